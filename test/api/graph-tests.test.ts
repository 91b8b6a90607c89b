/** Tests of graphs in the service: the real service, runners and GStreamer. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { GraphTestReport, GraphVersion } from "../../schemas/api/graphs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll, until } from "../watch.fixture.ts";
import { createKey, TestService, uploadVideo } from "./service.fixture.ts";

const FRAMES = 8;
const ENDLESS = "test:ball?frames=100000000&width=64&height=48";
const folder = temporaryFolder();
const graphs = join(folder, "graphs");

let service: TestService;
let ada: string;
let bob: string;
let source: SourceRecord;

const graph = (tests: string, name = "yard"): string => `graph: ${name}
about: Counts frames.
params:
  every: { type: integer, minimum: 1, default: 1 }
chains:
  main: [source, decode, stage, { videorate: { drop-only: true } }, fakesink]
tests:
${tests}`;

/** Runs until it is ended, in real time: without waiting for the clock it would take all processor time. */
const endless = (name: string): string =>
  graph(ball("frames: 1", ENDLESS), name).replace("fakesink]", "{ fakesink: { sync: true } }]");

const ball = (expect: string, clip = "test:ball?frames=20") => `  ball: { clip: "${clip}", expect: { ${expect} } }\n`;

const put = (text: string, name = "yard", key = ada): Promise<GraphVersion> =>
  service
    .call<GraphVersion>("PUT", `/graphs/${name}`, { body: text, key, headers: { "Content-Type": "application/yaml" } })
    .then(({ body, status, text: answer }) => {
      assert.ok(status === 200 || status === 201, answer);
      return body;
    });
const run = (status: number, json: unknown = {}, name = "yard", key = ada) =>
  service.expect<GraphTestReport>(status, "POST", `/graphs/${name}/test`, { json, key });
const reject = async (status: number, json: unknown = {}, name = "yard", key = ada) =>
  (await run(status, json, name, key)) as unknown as Problem;

before(async () => {
  mkdirSync(graphs);
  const clip = await makeClip(graphs, FRAMES);
  const beside = `  beside: { clip: ${basename(clip)}, expect: { frames: ${FRAMES} } }\n`;
  writeFileSync(join(graphs, "porch.yaml"), graph(beside, "porch"));
  writeFileSync(join(graphs, "bare.yaml"), graph("", "bare").replace("tests:\n", ""));
  writeFileSync(join(graphs, "lost.yaml"), graph("  lost: { clip: lost.mp4, expect: { frames: 8 } }\n", "lost"));
  service = await TestService.start({ env: { WINDHOVER_GRAPHS_FOLDERS: graphs } });
  ada = await createKey(service, "ada", "--graph-author");
  bob = await createKey(service, "bob", "--graph-author");
  source = await uploadVideo(service, clip, { alias: "yard camera", key: ada });
});
after(() => service?.close());

describe("POST /graphs/{name}/test", () => {
  test("answers each number with what was expected, and where, of the current version or another one", async () => {
    const { version } = await put(
      graph(`${ball("frames: 20")}  wrong: { clip: "test:snow?frames=5", expect: { frames: ">5" } }\n`),
    );
    const report = await run(200);
    assert.deepEqual([report.graph, report.version, report.passed], ["yard", version, false]);
    const [right, wrong] = report.tests.map(({ seconds, ...rest }) => ({ ...rest, hasTaken: seconds > 0 }));
    const found = { key: "frames", found: 20, expected: "20", passed: true, line: 8, column: 58 };
    assert.deepEqual(right, { name: "ball", passed: true, hasTaken: true, numbers: [found], failures: [] });
    assert.deepEqual(wrong?.failures, [{ message: "frames is 5; expected >5", line: 9, column: 58 }]);

    await put(graph(ball("frames: 3")));
    assert.equal((await run(200)).passed, false);
    const before = await run(200, { version, only: ["ball"] });
    assert.deepEqual([before.version, before.passed, before.tests.map(({ name }) => name)], [version, true, ["ball"]]);
    assert.equal((await reject(404, { version: 77 })).code, "graph_not_found");
  });

  test("plays an uploaded video by its alias or UUID, and only the owner's", async () => {
    const text = (clip: string, name: string) => graph(ball(`frames: ${FRAMES}`, `source:${clip}`), name);
    const again = ball(`frames: ${FRAMES}`, `source:${source.uuid.toUpperCase()}`).replace("ball", "by-uuid");
    await put(`${text("yard camera", "camera")}${again}`, "camera");
    const report = await run(200, {}, "camera");
    assert.deepEqual([report.passed, report.tests.length], [true, 2], JSON.stringify(report));
    for (const clip of ["yard camera", source.uuid.toUpperCase()]) {
      await put(text(clip, "camera"), "camera", bob);
      const { code, errors } = await reject(422, {}, "camera", bob);
      assert.equal(code, "invalid_input");
      assert.match(
        errors?.[0]?.message ?? "",
        /^camera\.yaml:8:17: there is no source ".*" \(expected the alias or UUID/,
      );
    }
  });

  test("plays a clip beside an installed graph, and no file for a graph of a client", async () => {
    const report = await run(200, {}, "porch");
    assert.deepEqual([report.version, report.passed], [null, true], JSON.stringify(report));
    assert.match((await reject(422, {}, "lost")).detail, /lost\.yaml:8:17: the service has no clip "lost\.mp4"/);
    for (const clip of ["clip.mp4", "../graphs/lost.yaml", join(graphs, "porch.yaml"), "/etc/passwd"]) {
      await put(graph(ball("frames: 8", clip)));
      const { detail } = await reject(422);
      assert.match(detail, /yard\.yaml:8:17: the service has no clip ".*" for this graph \(expected source:ALIAS/);
    }
    await put(graph('  file: { clip: "test:ball?frames=5", telemetry: /etc/passwd, expect: { frames: 5 } }\n'));
    assert.match((await reject(422)).detail, /`telemetry` is a file, which the service does not read/);
  });

  test("rejects what cannot be met before anything runs, with every fault", async () => {
    await put(
      graph(`${ball("frames: 1")}  a: { clip: "test:ball?frames=5", expect: { tracks: 1, counts.people: 3 } }\n`),
    );
    const { errors = [] } = await reject(422);
    assert.deepEqual(
      errors.map(({ message }) => message.replace(/:\d+: .*/, "")),
      ["yard.yaml:9", "yard.yaml:9"],
    );
  });

  test("answers 404 without such a test, graph or rights to it", async () => {
    await put(graph(ball("frames: 20")));
    const unknown = await reject(404, { only: ["bal"] });
    assert.equal(unknown.code, "test_not_found");
    assert.match(unknown.detail, /did you mean "ball"/);
    assert.equal((await reject(404, {}, "bare")).code, "test_not_found");
    assert.equal((await reject(404, {}, "yard", bob)).code, "graph_not_found");
    const reader = await createKey(service, "reader");
    assert.equal((await reject(403, {}, "porch", reader)).code, "graph_author_needed");
  });

  test("reports why a run failed", async () => {
    await put(
      graph(ball("frames: 20", "source:yard camera")).replace(
        "drop-only: true",
        'drop-only: true } }, { capsfilter: { caps: "video/x-raw,width=77"',
      ),
    );
    const { passed, tests } = await run(200);
    assert.deepEqual([passed, tests[0]?.numbers], [false, []]);
    const [failure] = tests[0]?.failures ?? [];
    assert.deepEqual([failure?.line, failure?.column], [8, 3]);
    assert.match(failure?.message ?? "", /cannot be played/);
  });

  test("runs the tests of a key once at a time, and cancels them when the client disconnects", async () => {
    await put(endless("long"), "long");
    const leaving = new AbortController();
    const request = { method: "POST", headers: { api_key: ada }, signal: leaving.signal };
    // Again while the request below has the place.
    const started = poll(
      "the client leaves",
      async () => (await fetch(`${service.url}/graphs/long/test`, request)).status !== 409,
    );
    started.catch(() => {});
    await put(graph(ball("frames: 20")));
    // Rejected before a run, where nothing else of the key runs.
    const ask = () => service.call("POST", "/graphs/yard/test", { json: { only: ["bal"] }, key: ada });
    await until(async () => (await ask()).status === 409);
    assert.match((await reject(409)).detail, /once at a time/);
    leaving.abort();
    await assert.rejects(started);
    await until(async () => (await ask()).status === 404);
  });
});
