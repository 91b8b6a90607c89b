import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type LoadedElements, loadElements } from "../../elements/index.ts";
import { elementText, SETTINGS, writeFiles } from "../../elements/outside.fixture.ts";
import { findOutside } from "../../elements/outside.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import { loadRegistry } from "../../graphs/runtime/registry.ts";
import { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { until } from "../../test/watch.fixture.ts";
import { stalledTerminal } from "../terminal.fixture.ts";
import { makeFolder, start } from "../windhover.fixture.ts";
import { reloadElements } from "./reload-elements.ts";
import { Reporter } from "./reporter.ts";

const registry = loadRegistry();
const EDITS = 50;
const BROKEN_EDIT = 25;

interface Printed {
  readonly frame: number;
  readonly count: number;
  readonly version: number;
}

/** A graph that runs in real time, with the elements of a folder. */
class Scene {
  readonly folder = makeFolder();
  readonly lines: Printed[] = [];
  said = "";
  #text: string;
  #elements: LoadedElements | null = null;
  #graph: RunningGraph | null = null;

  constructor(steps: string, files: Readonly<Record<string, string>>) {
    this.#text = `graph: scene\nchains:\n  main: [source, decode, ${steps}, { print: { keys: [count, version] } }]\n`;
    writeFiles(this.folder, files);
  }

  get last(): Printed | undefined {
    return this.lines.at(-1);
  }

  async start(): Promise<this> {
    const folders = {
      graphs: [],
      elements: [join(this.folder, "elements")],
      models: [],
      built: null,
      isWatched: false,
    };
    this.#elements = await loadElements(undefined, await findOutside(folders));
    const print = async (line: string) => void this.lines.push(JSON.parse(line));
    this.#graph = await RunningGraph.start(this.#compile(), { elements: this.#elements, registry, print });
    after(() => this.stop());
    await until(() => this.lines.length > 0);
    return this;
  }

  #compile() {
    const source = { uri: "test:ball?width=64&height=48&fps=100", pace: "realtime" } as const;
    return compile(
      { file: "scene.yaml", text: this.#text },
      { elements: this.#elements ?? new Map(), registry, source },
    );
  }

  /** Saves files and loads the elements again; resolves with what is said about it. */
  async save(files: Readonly<Record<string, string>>): Promise<string> {
    writeFiles(this.folder, files);
    const { terminal, reader } = stalledTerminal();
    const reading = reader.read();
    assert.ok(this.#graph !== null && this.#elements !== null);
    await reloadElements({
      ...{ graph: this.#graph, elements: this.#elements, terminal },
      origin: { compile: () => this.#compile(), textOf: () => this.#text, files: () => [] },
      reporter: new Reporter(terminal, { json: false, quiet: false }),
    });
    await reading;
    return reader.text;
  }

  async stop(): Promise<void> {
    const { state, error } = (await this.#graph?.stop()) ?? {};
    assert.deepEqual([state, error], ["finished", null]);
  }

  /** Of the main chain: each frame once, in order. */
  expectAllFrames(): void {
    assert.deepEqual(
      this.lines.map(({ frame }) => frame),
      this.lines.map((_, index) => index),
    );
  }
}

const version = (number: number): string => `export const VERSION: number = ${number};\n`;

/** Counts frames, also across versions. Every version registers a large object that only it refers to. */
const COUNT = elementText("counter", {
  above: `import { VERSION } from "./version.ts";
const ballast = new Array(50_000).fill(VERSION);
(globalThis as any).windhoverVersions ??= [];
(globalThis as any).windhoverVersions.push(new WeakRef(ballast));`,
  properties: "from: Type.Integer({ default: 0, description: 'First.' })",
  create: `let count = properties.from;
    services.listen("anything", () => ballast.length);
    return {
      process(frame) {
        frame.write({ count: count++, version: ballast[0] });
      },
      save: () => ({ count }),
      restore(state: any) {
        ({ count } = state);
      },
    };`,
});

const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
};

const countAlive = (): number =>
  (globalThis as unknown as { windhoverVersions: WeakRef<object>[] }).windhoverVersions.filter((ref) => ref.deref())
    .length;

test(`${EDITS} edits while a graph runs: no frame is lost, the state survives, and old versions are collected`, async () => {
  const scene = await new Scene("counter", {
    "elements/counter/counter.ts": COUNT,
    "elements/counter/version.ts": version(0),
  }).start();
  for (let edit = 1; edit <= EDITS; edit += 1) {
    const isBroken = edit === BROKEN_EDIT;
    const said = await scene.save({ "elements/counter/version.ts": isBroken ? "export const = 3;\n" : version(edit) });
    if (isBroken)
      assert.match(said, /^not reloaded: \S+\/version\.ts:1:14: .*; "counter" continues with its old code$/m);
    else await until(() => scene.last?.version === edit);
  }
  await scene.stop();
  scene.expectAllFrames();
  assert.deepEqual(
    scene.lines.map(({ count }) => count),
    scene.lines.map(({ frame }) => frame),
  );
  const versions = [...new Set(scene.lines.map((line) => line.version))];
  assert.deepEqual(
    versions,
    Array.from({ length: EDITS + 1 }, (_, edit) => edit).filter((edit) => edit !== BROKEN_EDIT),
  );
  await until(() => {
    collectGarbage();
    return countAlive() <= 2;
  });
});

describe("an edit that does not fit keeps the old code", () => {
  const PLAIN = elementText("plain", {
    properties: "size: Type.Integer({ default: 1, minimum: 0, description: 'Size.' })",
  });
  for (const [what, change, says] of [
    [
      "a throw in create",
      (text: string) => text.replace("return {", "null.x; return {"),
      /^not reloaded: plain: .* at .*plain\.ts:11:10\); "plain"/m,
    ],
    [
      "other caps",
      (text: string) => text.replace('caps: "ANY"', 'caps: "video/x-raw"'),
      /plain\.ts: caps of the element changed from "ANY" to "video\/x-raw"; .* started again/,
    ],
    [
      "another kind",
      (text: string) => text.replace('"transform"', '"sink"'),
      /it does not fit the graph|kind of the element changed/,
    ],
    [
      "a property that the graph sets",
      (text: string) => text.replace("minimum: 0", "minimum: 5"),
      /^scene\.yaml:3:\d+: .*size(.|\n)*plain\.ts: it does not fit the graph/m,
    ],
    ["another name", (text: string) => text.replace('"plain"', '"plane"'), /plain\.ts: the element is named "plane"/],
    [
      "another number of frames in flight",
      (text: string) => text.replace("process() {}", "process() {}, inFlight: 3"),
      /inFlight of the handler changed from none to 3/,
    ],
  ] as const)
    test(what, async () => {
      const scene = await new Scene("{ plain: { size: 3 } }", { "elements/plain/plain.ts": PLAIN }).start();
      assert.match(await scene.save({ "elements/plain/plain.ts": change(PLAIN) }), says);
      const before = scene.lines.length;
      await until(() => scene.lines.length > before + 5);
      assert.match(
        await scene.save({ "elements/plain/plain.ts": PLAIN }),
        /^reloaded .*plain\.ts: 1 handler replaced$/m,
      );
      await scene.stop();
      scene.expectAllFrames();
    });
});

test("all handlers of an element are replaced or none, and frames in flight are finished first", async () => {
  const slow = (number: number, restore: string) =>
    elementText("slow", {
      properties: "last: Type.Boolean({ default: false, description: 'Last.' })",
      create: `let count = 0;
    let pending = 0;
    return {
      async process(frame) {
        const number = count++;
        pending += 1;
        await new Promise((resolve) => setTimeout(resolve, 3));
        pending -= 1;
        if (properties.last) frame.write({ count: number, version: ${number} });
      },
      async save() {
        if (pending > 0) throw new Error(pending + " frames are in flight");
        const saved = count;
        await new Promise((resolve) => setTimeout(resolve, 50)); // frames arrive meanwhile
        return saved;
      },
      restore(state: any) { ${restore} count = state; },
    };`,
    }).replace("about:", "inFlight: 4,\n  about:");
  const steps = "{ slow: { name: one } }, { slow: { name: two, last: true } }";
  const scene = await new Scene(steps, { "elements/slow/slow.ts": slow(1, "") }).start();
  const said = await scene.save({ "elements/slow/slow.ts": slow(2, "if (properties.last) throw new Error('no');") });
  assert.match(said, /not reloaded: .*slow\.ts: no; "slow" continues/);
  assert.match(await scene.save({ "elements/slow/slow.ts": slow(3, "") }), /2 handlers replaced/);
  await until(() => scene.last?.version === 3);
  await scene.stop();
  scene.expectAllFrames();
  assert.deepEqual([...new Set(scene.lines.map((line) => line.version))], [1, 3]);
  assert.deepEqual(
    scene.lines.map(({ count }) => count),
    scene.lines.map(({ frame }) => frame),
  );
});

test("a new property can be set in the graph once the element has it", async () => {
  const folder = makeFolder();
  const graph = (step: string) =>
    `graph: mine\nchains:\n  main: [source, decode, ${step}, { print: { keys: [more] } }]\n`;
  const plain = elementText("plain");
  writeFiles(folder, {
    ...{ "windhover.yaml": SETTINGS, "models/README.md": "", "graphs/mine.yaml": graph("plain") },
    "elements/plain/plain.ts": plain,
  });
  const run = start(["run", "mine", "test:ball", "--pace", "realtime", "--watch"], folder);
  await run.until(({ printed }) => printed >= 2);
  const file = join(folder, "elements/plain/plain.ts");
  writeFileSync(file, plain.replace("return {", "return {("));
  await run.until(({ stderr }) => /^not reloaded: elements\/plain\/plain\.ts:11:13: .*old code$/m.test(stderr));
  const more = "more: Type.Integer({ default: 1, live: true, description: 'More.' })";
  const body = `let { more } = properties;
    return { process(frame) { frame.write({ more }); }, update(next) { ({ more } = next); } };`;
  writeFileSync(file, elementText("plain", { properties: more, create: body }));
  // What a run prints to one of its outputs can be read before what it has printed to the other one.
  const untilPrinted = (value: string, report: RegExp) =>
    run.until(({ stdout, stderr }) => stdout.includes(value) && report.test(stderr));
  await untilPrinted('"more":1', /^reloaded elements\/plain\/plain\.ts: 1 handler replaced$/m);
  writeFileSync(join(folder, "graphs/mine.yaml"), graph("{ plain: { more: 7 } }"));
  await untilPrinted('"more":7', /^live plain\.more \(default\) → 7$/m);
  run.child.kill("SIGINT");
  const { code, lines, stderr } = await run.done;
  assert.equal(code, 0, stderr);
  const frames = lines.map((line) => (JSON.parse(line) as Printed).frame);
  assert.deepEqual(frames, [...frames.keys()]);
});
