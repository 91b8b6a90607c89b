/** The graphs and examples of this repository, compiled against the GStreamer of this machine. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { loadElements } from "../../elements/index.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { loadRegistry } from "../runtime/registry.ts";
import { type CompileInput, compile, compileLaunch } from "./compile.ts";
import { DETECT, messagesOf } from "./compiler.fixture.ts";
import { gstLaunch } from "./plan-to-text.ts";

const FOLDER = new URL("../", import.meta.url);
const listFiles = (folder: URL): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const recipes = listFiles(new URL("recipes/", FOLDER));
const templates = [...listFiles(FOLDER), ...recipes];
const read = (name: string): string =>
  readFileSync(new URL(recipes.includes(name) ? `recipes/${name}` : name, FOLDER), "utf8");

const LIMITS = { timeout: 60_000, killSignal: "SIGKILL" } as const;
const elements = await loadElements();
const input: CompileInput = {
  elements,
  registry: loadRegistry(),
  load: (name) =>
    templates.includes(`${name}.yaml`) ? { file: `graphs/${name}.yaml`, text: read(`${name}.yaml`) } : undefined,
  mode: "check",
};

describe("every template", () => {
  for (const name of templates) {
    test(`${name} compiles, and is named by its file`, () => {
      const compiled = compile({ file: `graphs/${name}`, text: read(name) }, input);
      assert.deepEqual(messagesOf(compiled), []);
      assert.equal(`${compiled.plan?.graph}.yaml`, name);
    });
  }
});

test("slots of detect that draw and encode have the same steps before their sink, and live bitrates", () => {
  const compiled = compile(
    { file: "graphs/detect.yaml", text: read("detect.yaml") },
    { ...input, mode: "run", source: { uri: "test:ball" } },
  );
  const params = { resolution: "720p", bitrate: 900, codec: "h265" };
  const stepsOf = (slot: string, target: JsonRecord) => {
    const { segment, faults } = compiled.slot(slot, "a", { ...params, ...target });
    assert.deepEqual(messagesOf({ faults }), []);
    const { nodes } = segment ?? assert.fail();
    return nodes
      .filter(({ element }) => ["stage", "resize", "overlay", "encode"].includes(element))
      .map(({ author, factory, properties }) => [author.replace(/.*\//, ""), factory, properties]);
  };
  const [video, ...others] = [
    stepsOf("video", { path: "/tmp/a.mp4" }),
    stepsOf("recording", { path: "/tmp/a.mp4" }),
    stepsOf("rtsp", { url: "rtsp://a.example/b" }),
    stepsOf("rtmp", { url: "rtmp://a.example/b" }),
    stepsOf("srt", { url: "srt://a.example:1" }),
  ];
  for (const steps of others) assert.deepEqual(steps, video);
  assert.deepEqual([...new Set(video?.map(([author]) => author))], ["stage", "resize", "overlay", "encode"]);
});

describe("the launch line of every template", () => {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  after(() => rmSync(folder, { recursive: true }));
  const run = promisify(execFile);
  /** Templates that differ in their alerts have the same line. */
  const runs = new Map<string, Promise<{ readonly stdout: string }>>();
  const source = "test:ball?width=64&height=48&frames=5";
  for (const name of templates) {
    test(`${name} runs to its end in GStreamer alone`, async () => {
      const text = { file: `graphs/${name}`, text: read(name) };
      const { paramSchema } = compile(text, input);
      const required = (paramSchema.required ?? []) as readonly string[];
      const schemas = paramSchema.properties as Readonly<Record<string, JsonRecord>>;
      const giveValue = (param: string): Json => {
        const [example] = (schemas[param]?.examples ?? []) as readonly Json[];
        return example ?? (param === "path" ? join(folder, "out.mp4") : source);
      };
      const params: JsonRecord = Object.fromEntries(required.map((param) => [param, giveValue(param)]));
      const { plan, faults } = compile(text, { ...input, params, source: { uri: source } });
      assert.deepEqual(messagesOf({ faults }), []);
      const line = gstLaunch(plan ?? assert.fail());
      const running = runs.get(line) ?? run("/bin/sh", ["-c", `exec ${line}`], LIMITS);
      runs.set(line, running);
      const { stdout } = await running;
      assert.match(stdout, /Got EOS from element/);
    });
  }
});

describe("every element", () => {
  for (const element of elements.values()) {
    test(`the example of ${element.name} compiles and uses it`, () => {
      const compiled = compile({ file: element.name, text: element.example }, input);
      assert.deepEqual(messagesOf(compiled), []);
      assert.ok(element.example.includes(element.name));
    });
  }
});

describe("the published schema", () => {
  const schema: object = JSON.parse(readFileSync(new URL("../../schemas/graph.schema.json", import.meta.url), "utf8"));
  const fits = new Ajv2020({ strict: false }).compile(schema);

  for (const name of templates)
    test(`takes ${name}`, () => assert.ok(fits(parse(read(name))), JSON.stringify(fits.errors)));

  test("takes GStreamer elements and elements it does not know", () => {
    assert.ok(fits(parse(DETECT)), JSON.stringify(fits.errors));
  });

  const wrong = [
    "chains: { main: [source] }",
    "graph: g\nchain: {}",
    "graph: g\nchains: { main: [{ stage: { bufers: 3 } }] }",
    "graph: g\nchains: { main: [{ stage: { buffers: many } }] }",
    "graph: g\nchains: { main: [{ from: a, queue: {} }] }",
    "graph: g\nchains: { main: [] }",
  ];
  for (const text of wrong) test(`refuses ${JSON.stringify(text)}`, () => assert.ok(!fits(parse(text))));
});

test("a size that does not match is a fault of the step that requires it", () => {
  const line = (between: string) =>
    messagesOf(compileLaunch(`source uri=test:ball ! decode ! stage ! ${between}video/x-raw,width=321 ! print`, input));
  assert.deepEqual(line(""), [
    'launch:1:41: "stage" outputs video/x-raw,width={640,360}, but "capsfilter" accepts video/x-raw,width=321 (expected `resize` or `videoscale` before it)',
  ]);
  assert.deepEqual(line("videoscale ! "), []);
  assert.deepEqual(line("resize to=360p ! videoscale ! "), []);
});

test("finds faults with GStreamer's introspection", () => {
  const compiled = compileLaunch(
    "videotestsrc patern=ball ! x264enc bitrate=0 tune=zero ! h264parse ! videoconvert ! fakesink",
    input,
  );
  assert.deepEqual(
    compiled.faults.map((fault) => [fault.code, fault.at.column, fault.suggestion]),
    [
      ["unknown_property", 14, "pattern"],
      ["bad_property", 44, undefined],
      ["bad_property", 51, undefined],
      ["not_linkable", 70, undefined],
    ],
  );
});
