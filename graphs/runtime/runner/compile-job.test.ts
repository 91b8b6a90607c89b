import assert from "node:assert/strict";
import { test } from "node:test";
import { loadElements } from "../../../elements/index.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { loadRegistry } from "../registry.ts";
import { compileJob, listHosts } from "./compile-job.ts";
import { jobOn } from "./runner.fixture.ts";

const knowledge = { elements: await loadElements(), registry: loadRegistry() };
const sourceUri = "rtsp://camera.example/stream";

test("hosts that an installed graph names are those of all its files", () => {
  const job = jobOn({ sourceUri, graph: "preview-small", graphText: null });
  const texts = new Set<string>();
  assert.equal(compileJob(job, knowledge, {}, texts).plan?.graph, "preview-small");
  assert.deepEqual([...texts].map((text) => /^graph: (\S+)$/m.exec(text)?.[1]).sort(), ["preview", "preview-small"]);
  const named = new Set([...texts, "publish: { url: rtsp://archive.example/yard }"]);
  const hosts = listHosts(job, named).map(({ host }) => host);
  assert.ok(hosts.includes("archive.example") && hosts.includes("camera.example"));
});

test("a client's text names no hosts, and reads installed graphs only", () => {
  const use = (part: string) =>
    `graph: own\nchains: { main: [source, decode, detect, track, { use: ${part} }, fakesink] }\n`;
  const jobOf = (part: string) => jobOn({ sourceUri, graph: "own", graphText: use(part) });
  const texts = new Set<string>();
  compileJob(jobOf("detect#draw-and-encode"), knowledge, {}, texts);
  assert.equal(texts.size, 2);
  assert.deepEqual(
    listHosts(jobOf("detect#draw-and-encode"), new Set(["rtsp://archive.example/yard"])).map(({ host }) => host),
    ["camera.example"],
  );
  for (const part of ["./detect.yaml#draw-and-encode", "graphs/detect.yaml#draw-and-encode"])
    assert.throws(() => compileJob(jobOf(part), knowledge), GraphFaults);
});
