/** Stops, cuts and failures at bad moments: everything that was opened is closed, and nothing waits for ever. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Type } from "typebox";
import { type AnyElement, defineElement, type Handler } from "../../elements/element.ts";
import { collector, compiledLaunch, compiledText, start, temporaryFolder } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { GraphEvent } from "./events.ts";

const folder = temporaryFolder();
const watch = new Watch();
let frames = 0;
const sink = collector(() => {
  frames++;
  watch.look();
});

/** A step of whose handlers the test decides everything; `fixed` cannot change while it runs, `level` can. */
function step(create: () => Handler | Promise<Handler>): AnyElement {
  return defineElement({
    name: "step",
    about: "Test: does what the test says.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({
      fixed: Type.Integer({ default: 1 }),
      level: Type.Integer({ default: 1, live: true }),
    }),
    create,
  });
}

const graphText = (properties: string, rest = "") => `
graph: endings
about: A graph that ends in unusual ways.
chains:
  main:
    - source: { uri: "test:ball?width=64&height=48", pace: realtime }
    - decode
    - step: { ${properties} }
    - tee: { name: frames }
  data: [{ from: frames }, stage, collect]
${rest}`;

const flowing = async (): Promise<void> => {
  const before = frames;
  await watch.until("frames", () => frames > before + 2);
};

/** A promise and the moment to settle it. */
function gate(): { promise: Promise<void>; open(): void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

const FINISHED = { state: "finished", error: null };

test("a stop during a relaunch ends the graph, and no pipeline keeps playing", async () => {
  const closing = gate();
  const closed = gate();
  const element = step(() => ({
    process() {},
    close() {
      closing.open();
      return closed.promise;
    },
  }));
  const extra = [element, sink];
  const graph = await start(compiledText(graphText("fixed: 1"), ...extra), extra);
  const applied = graph.apply(compiledText(graphText("fixed: 2"), ...extra));
  await closing.promise;
  const stopped = graph.stop();
  closed.open();
  await assert.rejects(applied, /stopped/);
  assert.deepEqual(await stopped, FINISHED);
  assert.equal(graph.state, "finished");
});

test("an abort during a relaunch ends the graph", async () => {
  const closing = gate();
  const closed = gate();
  const cut = new AbortController();
  const element = step(() => ({
    process() {},
    close() {
      closing.open();
      return closed.promise;
    },
  }));
  const extra = [element, sink];
  const graph = await start(compiledText(graphText("fixed: 1"), ...extra), extra, { signal: cut.signal });
  const applied = graph.apply(compiledText(graphText("fixed: 2"), ...extra));
  await closing.promise;
  cut.abort();
  closed.open();
  await assert.rejects(applied, /stopped/);
  assert.deepEqual(await graph.ended, FINISHED);
});

test("an abort does not wait for a handler that is being created, and closes it later", async () => {
  const asked = gate();
  const made = gate();
  const closed = gate();
  const cut = new AbortController();
  const element = step(async () => {
    asked.open();
    await made.promise;
    return { process() {}, close: () => closed.open() };
  });
  const extra = [element, sink];
  const starting = start(compiledText(graphText(""), ...extra), extra, { signal: cut.signal });
  await asked.promise;
  cut.abort();
  await assert.rejects(starting, /stopped/);
  made.open();
  await closed.promise;
});

test("closes a driver that is created after an abort", async () => {
  const asked = gate();
  const made = gate();
  const closed = gate();
  const cut = new AbortController();
  const driven = defineElement({
    name: "driven",
    about: "Test: a composite with a driver.",
    example: "",
    kind: "composite",
    properties: Type.Object({}),
    expand: () => ({ nodes: [{ suffix: "pass", factory: "identity", properties: {} }] }),
    async drive() {
      asked.open();
      await made.promise;
      return { close: () => closed.open() };
    },
  });
  const extra = [driven, sink];
  const line = "source uri=test:ball pace=realtime ! decode ! driven ! collect";
  const starting = start(compiledLaunch(line, ...extra), extra, { signal: cut.signal });
  await asked.promise;
  cut.abort();
  await assert.rejects(starting, /stopped/);
  made.open();
  await closed.promise;
});

test("a slot's driver runs while the slot is attached", async () => {
  const log: string[] = [];
  const driven = defineElement({
    name: "driven",
    about: "Test: a composite with a driver.",
    example: "",
    kind: "composite",
    properties: Type.Object({}),
    expand: () => ({ nodes: [{ suffix: "pass", factory: "identity", properties: {} }] }),
    drive() {
      log.push("drive");
      return { close: () => void log.push("close") };
    },
  });
  const element = step(() => ({ process() {} }));
  const extra = [driven, element, sink];
  const slots = "slots:\n  more: { chain: [{ from: frames }, stage, driven, { fakesink: { sync: false } }] }\n";
  const graph = await start(compiledText(graphText("", slots), ...extra), extra);
  const name = await graph.attach("more", {});
  assert.deepEqual(log, ["drive"]);
  await graph.detach(name);
  assert.deepEqual(log, ["drive", "close"]);
  await graph.stop();
});

test("a slot that could not be detached stays attached, and can be detached again", async () => {
  const driven = defineElement({
    name: "driven",
    about: "Test: a composite whose driver does not close.",
    example: "",
    kind: "composite",
    properties: Type.Object({}),
    expand: () => ({ nodes: [{ suffix: "pass", factory: "identity", properties: {} }] }),
    drive: () => ({ close: () => Promise.reject(new Error("not now")) }),
  });
  const element = step(() => ({ process() {} }));
  const extra = [driven, element, sink];
  const slots = "slots:\n  more: { chain: [{ from: frames }, stage, driven, { fakesink: { sync: false } }] }\n";
  const graph = await start(compiledText(graphText("", slots), ...extra), extra);
  const name = await graph.attach("more", {});
  await assert.rejects(graph.detach(name), /not now/);
  assert.equal(graph.has(name), true);
  await graph.detach(name);
  assert.equal(graph.has(name), false);
  await graph.stop();
});

describe("parts that do not end", { concurrency: true }, () => {
  test("a handler that never closes does not prevent the end of the graph, and is logged", async () => {
    const events: GraphEvent[] = [];
    const element = step(() => ({ process() {}, close: () => new Promise(() => {}) }));
    const extra = [element, sink];
    const graph = await start(compiledText(graphText(""), ...extra), extra, {
      onEvent: (event) => void events.push(event),
    });
    assert.deepEqual(await graph.stop(), FINISHED);
    const warnings = events.flatMap((event) => (event.type === "log" ? [event.message] : []));
    assert.match(warnings.join("\n"), /did not (close|stop) within/);
  });

  test("a stream that does not end is cut off and logged", async () => {
    const events: GraphEvent[] = [];
    const element = step(() => ({ process() {}, end: () => new Promise(() => {}) }));
    const extra = [element, sink];
    const graph = await start(compiledText(graphText(""), ...extra), extra, {
      onEvent: (event) => void events.push(event),
    });
    await flowing();
    assert.deepEqual(await graph.stop(), FINISHED);
    const warnings = events.flatMap((event) => (event.type === "log" ? [event.message] : []));
    assert.match(warnings.join("\n"), /cut off: the stream did not end/);
  });
});

test("a listener that throws at the end does not keep the pipeline open", async () => {
  const element = step(() => ({ process() {} }));
  const extra = [element, sink];
  const graph = await start(compiledText(graphText(""), ...extra), extra, {
    onClosing() {
      throw new Error("the listener broke");
    },
  });
  assert.deepEqual(await graph.stop(), FINISHED);
});

test("the state never returns, however often a paused graph is stopped", async () => {
  const states: string[] = [];
  const element = step(() => ({ process() {} }));
  const extra = [element, sink];
  const graph = await start(compiledText(graphText(""), ...extra), extra, {
    onEvent: (event) => void (event.type === "state" && states.push(event.state)),
  });
  await graph.pause();
  assert.deepEqual(await Promise.all([graph.stop(), graph.stop()]), [FINISHED, FINISHED]);
  assert.deepEqual(states, ["starting", "running", "paused", "stopping", "finished"]);
  assert.deepEqual(await graph.stop(), FINISHED);
});

test("an update that throws rejects the change; the graph continues unchanged and accepts the next change", async () => {
  const levels: unknown[] = [];
  const element = step(() => ({
    process() {},
    update({ level }: { level?: unknown }) {
      if (level === 5) throw new Error("five is right out");
      levels.push(level);
    },
  }));
  const extra = [element, sink];
  const graph = await start(compiledText(graphText("level: 1"), ...extra), extra);
  await assert.rejects(
    graph.apply(compiledText(graphText("level: 5"), ...extra)),
    /step rejects level: five is right out/,
  );
  await flowing();
  await graph.apply(compiledText(graphText("level: 6"), ...extra));
  assert.deepEqual(levels, [6]);
  assert.deepEqual(await graph.stop(), FINISHED);
});

test("a branch that cannot be attached again does not block later changes", async () => {
  let broken = false;
  const picky = defineElement({
    name: "picky",
    about: "Test: cannot be made while it is broken.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({ fixed: Type.Integer({ default: 1 }) }),
    create() {
      if (broken) throw new Error("out of order");
      return { process() {} };
    },
  });
  const element = step(() => ({ process() {} }));
  const extra = [picky, element, sink];
  const branch = (fixed: number) =>
    `  extra: [{ from: frames }, stage, { picky: { fixed: ${fixed} } }, { fakesink: { sync: false } }]\n`;
  const graph = await start(compiledText(graphText("", branch(1)), ...extra), extra);
  broken = true;
  await assert.rejects(graph.apply(compiledText(graphText("", branch(2)), ...extra)), /out of order/);
  broken = false;
  const repaired = await graph.apply(compiledText(graphText("", branch(3)), ...extra));
  assert.deepEqual(repaired, [{ label: "branch", action: "attach", segment: "extra" }]);
  assert.deepEqual(await graph.apply(compiledText(graphText(""), ...extra)), [
    { label: "branch", action: "detach", segment: "extra" },
  ]);
  assert.deepEqual(await graph.stop(), FINISHED);
});

test("attached slots follow the graph: changed and relaunched with it, detached when it lacks them", async () => {
  const element = step(() => ({ process() {} }));
  const extra = [element, sink];
  const slots = (caps: string) =>
    `slots:\n  more: { chain: [{ from: frames }, stage, ${caps}{ fakesink: { sync: false } }] }\n`;
  const rescaled = 'videoscale, { caps: "video/x-raw,width=32,height=24" }, ';
  const graph = await start(compiledText(graphText("fixed: 1", slots("")), ...extra), extra);
  const name = await graph.attach("more", {});
  const changed = await graph.apply(compiledText(graphText("fixed: 1", slots(rescaled)), ...extra));
  assert.deepEqual(
    changed.map((change) => (change.label === "branch" ? [change.action, change.segment] : change)),
    [
      ["detach", name],
      ["attach", name],
    ],
  );
  await graph.apply(compiledText(graphText("fixed: 2", slots("")), ...extra));
  assert.ok(graph.segments().some((segment) => segment.name === name));
  const gone = await graph.apply(compiledText(graphText("fixed: 2"), ...extra));
  assert.deepEqual(gone, [{ label: "branch", action: "detach", segment: name }]);
  assert.deepEqual(await graph.stop(), FINISHED);
});

test("a relaunch finalises files first", async () => {
  const path = join(folder, "relaunched.mp4");
  const element = step(() => ({ process() {} }));
  const extra = [element, sink];
  const recording = `  file: [{ from: frames }, stage, encode, { record: { path: "${path}" } }]\n`;
  const graph = await start(compiledText(graphText("fixed: 1", recording), ...extra), extra);
  const before = frames;
  await watch.until("a second and a half of frames", () => frames >= before + 37);
  const recorded = frames;
  await graph.apply(compiledText(graphText("fixed: 2"), ...extra));
  assert.deepEqual(await graph.stop(), FINISHED);
  let played = 0;
  const player = collector(() => void played++);
  const replay = await start(compiledLaunch(`source uri="${path}" ! decode ! collect`, player), [player]);
  assert.deepEqual(await replay.ended, FINISHED);
  assert.ok(played >= recorded - before - 2, `${played} of at least ${recorded - before} frames are in the file`);
});
