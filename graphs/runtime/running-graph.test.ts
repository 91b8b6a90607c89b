import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";
import { collector, compiledLaunch, compiledText, makeClip, start, temporaryFolder } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import { GraphFaults } from "../compiler/fault.ts";
import type { GraphEvent } from "./events.ts";
import { StatsReader } from "./stats.ts";

const folder = temporaryFolder();

/** Reports its calls to the test. */
function diary(log: string[], create?: () => void) {
  return defineElement({
    name: "diary",
    about: "Test: writes down what happens to it.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({
      level: Type.Number({ default: 0.5, minimum: 0, maximum: 1, live: true }),
      word: Type.String({ default: "a", live: true }),
      fixed: Type.Integer({ default: 1 }),
      list: Type.Optional(Type.Array(Type.String(), { live: true })),
    }),
    create(properties) {
      create?.();
      log.push(`create ${JSON.stringify(properties)}`);
      return {
        process() {},
        update: (next) => void log.push(`update ${JSON.stringify(next)}`),
        end: () => void log.push("end"),
        close: () => void log.push("close"),
      };
    },
  });
}

const graphText = (diaryProperties: string, branches = "") => `
graph: changing
about: A graph that is edited while it runs.
chains:
  main:
    - source: { uri: "test:ball?width=64&height=48", pace: realtime }
    - decode
    - diary: ${diaryProperties}
    - tee: { name: frames }
  data: [{ from: frames }, stage, collect]
${branches}`;

test("sets a live property without losing a frame, several as one update", async () => {
  const log: string[] = [];
  const times: bigint[] = [];
  const watch = new Watch();
  const sink = collector((frame) => {
    times.push(frame.ptsNs ?? -1n);
    watch.check();
  });
  const extra = [diary(log), sink];
  const graph = await start(compiledText(graphText("{ level: 0.1 }"), ...extra), extra);
  const { pipeline } = graph;
  await watch.until("frames", () => times.length > 3);
  const changes = await graph.apply(compiledText(graphText("{ level: 0.9, word: b, list: [x, y] }"), ...extra));
  assert.deepEqual(
    changes.map((change) => change.label),
    ["live", "live", "live"],
  );
  const seen = times.length;
  await watch.until("frames after the change", () => times.length > seen + 3);
  assert.equal(graph.pipeline, pipeline);
  await graph.stop();
  assert.deepEqual(log, [
    'create {"level":0.1,"word":"a","fixed":1}',
    'update {"level":0.9,"word":"b","list":["x","y"],"fixed":1}',
    "end",
    "close",
  ]);
  assert.deepEqual(
    times.filter((pts, index) => pts !== BigInt(index) * 40_000_000n),
    [],
  );
});

test("adding, changing and removing a chain at a tee are branch changes", async () => {
  const log: string[] = [];
  const watch = new Watch();
  let frames = 0;
  const sink = collector(() => {
    frames++;
    watch.check();
  });
  const extra = [diary(log), sink];
  const withBranch = (method: string) =>
    graphText(
      "{}",
      `  shots: [{ from: frames }, stage, { jpegenc: { idct-method: ${method} } }, { fakesink: { sync: false } }]\n`,
    );
  const graph = await start(compiledText(graphText("{}"), ...extra), extra);
  const { pipeline } = graph;
  const added = await graph.apply(compiledText(withBranch("ifast"), ...extra));
  const before = frames;
  await watch.until("frames", () => frames > before + 2);
  const changed = await graph.apply(compiledText(withBranch("islow"), ...extra));
  const removed = await graph.apply(compiledText(graphText("{}"), ...extra));
  assert.deepEqual(added, [{ label: "branch", action: "attach", segment: "shots" }]);
  assert.deepEqual(
    changed.map((change) => (change.label === "branch" ? change.action : change.label)),
    ["detach", "attach"],
  );
  assert.deepEqual(removed, [{ label: "branch", action: "detach", segment: "shots" }]);
  assert.equal(graph.pipeline, pipeline);
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
});

test("any other change of main is a relaunch, with the reason before and after", async () => {
  const log: string[] = [];
  const events: GraphEvent[] = [];
  const watch = new Watch();
  let frames = 0;
  const sink = collector(() => {
    frames++;
    watch.check();
  });
  const extra = [diary(log), sink];
  const graph = await start(compiledText(graphText("{ fixed: 1 }"), ...extra), extra, {
    onEvent: (event) => void events.push(event),
  });
  const { pipeline } = graph;
  const next = compiledText(graphText("{ fixed: 2 }"), ...extra);
  const [expected] = graph.preview(next);
  assert.equal(expected?.label, "relaunch");
  assert.match(expected?.label === "relaunch" ? expected.reason : "", /fixed/);
  assert.deepEqual(await graph.apply(next), [expected]);
  assert.notEqual(graph.pipeline, pipeline);
  const before = frames;
  await watch.until("frames after the relaunch", () => frames > before + 3);
  assert.equal(graph.state, "running");
  assert.deepEqual(events.at(-1), { type: "changed", changes: [expected] });
  await graph.stop();
  assert.deepEqual(
    log.map((line) => line.split(" ")[0]),
    ["create", "end", "close", "create", "end", "close"],
  );
});

test("object ids continue after a relaunch, for every element", async () => {
  const ids: number[] = [];
  const registering = defineElement({
    name: "diary",
    about: "Test: takes an id when it is made.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({ fixed: Type.Integer({ default: 1 }) }),
    create(_, { job }) {
      ids.push(job.nextTrackId());
      return { process() {} };
    },
  });
  const extra = [registering, collector(() => {})];
  const graph = await start(compiledText(graphText("{ fixed: 1 }"), ...extra), extra, { firstTrackId: 41 });
  const [change] = await graph.apply(compiledText(graphText("{ fixed: 2 }"), ...extra));
  assert.equal(change?.label, "relaunch");
  await graph.stop();
  assert.deepEqual(ids, [41, 42]);
});

test("an element that cannot be created fails the start, and the others are closed", async () => {
  const log: string[] = [];
  const broken = defineElement({
    ...collector(() => {}),
    kind: "sink",
    caps: "ANY",
    create() {
      throw new Error("no such model");
    },
  });
  const extra = [diary(log), broken];
  await assert.rejects(start(compiledText(graphText("{}"), ...extra), extra), /collect: no such model/);
  assert.deepEqual(
    log.map((line) => line.split(" ")[0]),
    ["create", "close"],
  );
});

test("an error in a handler ends the graph with the element's name, the text and the stack", async () => {
  const sink = collector((frame) => {
    if (frame.index === 5) throw new Error("cannot count to six");
  });
  const graph = await start(compiledLaunch("source uri=test:ball ! decode ! collect name=six", sink), [sink]);
  const { state, error } = await graph.ended;
  assert.equal(state, "failed");
  assert.equal(error?.message, "six: cannot count to six");
  assert.match(error?.debug ?? "", /running-graph\.test\.(ts|mjs)/);
});

test("a slot with wrong parameters is rejected with its faults and changes nothing", async () => {
  const sink = collector(() => {});
  const text = `${graphText("{}")}slots:
  file:
    params: { path: { type: string, minLength: 1 } }
    chain: [{ from: frames }, stage, encode, { record: { path: $path } }]
`;
  const extra = [diary([]), sink];
  const graph = await start(compiledText(text, ...extra), extra);
  await assert.rejects(graph.attach("file", { path: 3 }), GraphFaults);
  await assert.rejects(graph.attach("film", {}), GraphFaults);
  assert.equal(graph.state, "running");
  await graph.stop();
  await assert.rejects(graph.attach("file", { path: "x" }), /the graph is finished/);
});

test("a detached recording slot leaves a file that plays", async () => {
  const watch = new Watch();
  let frames = 0;
  const sink = collector(() => {
    frames++;
    watch.check();
  });
  const text = `${graphText("{}")}slots:
  file:
    params: { path: { type: string, minLength: 1 } }
    chain: [{ from: frames }, stage, encode, { record: { path: $path } }]
`;
  const extra = [diary([]), sink];
  const graph = await start(compiledText(text, ...extra), extra);
  const path = join(folder, "slot.mp4");
  const name = await graph.attach("file", { path });
  const before = frames;
  await watch.until("half a second of frames", () => frames >= before + 12);
  await graph.detach(name);
  assert.ok(existsSync(path));
  await graph.stop();

  let played = 0;
  const player = collector(() => void played++);
  const replay = await start(compiledLaunch(`source uri="${path}" ! decode ! collect`, player), [player]);
  assert.deepEqual(await replay.ended, { state: "finished", error: null });
  assert.ok(played >= 10, `${played} frames came back`);
});

test("the same clip at pace fast gives the same lines twice", async () => {
  const clip = await makeClip(folder, 60);
  const run = async (): Promise<string[]> => {
    const lines: string[] = [];
    const graph = await start(compiledLaunch(`source uri="${clip}" ! decode ! stage ! print`), [], {
      print: async (line) => void lines.push(line),
    });
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    return lines;
  };
  const first = await run();
  assert.equal(first.length, 60);
  assert.deepEqual(await run(), first);
});

test("a paused graph stops and continues at its position", async () => {
  const times: bigint[] = [];
  const watch = new Watch();
  const sink = collector((frame) => {
    times.push(frame.ptsNs ?? -1n);
    watch.check();
  });
  const extra = [diary([]), sink];
  const graph = await start(compiledText(graphText("{}"), ...extra), extra);
  await watch.until("frames", () => times.length > 3);
  await graph.pause();
  assert.equal(graph.state, "paused");
  // That nothing comes can only be seen by looking for a while: five frames would have come in this one.
  const still = times.length;
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(times.length <= still + 1, `${times.length - still} frames came while it was paused`);
  await graph.resume();
  const before = times.length;
  await watch.until("frames again", () => times.length > before + 3);
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
  assert.deepEqual(
    times.filter((pts, index) => pts !== BigInt(index) * 40_000_000n),
    [],
  );
});

test("stats count and time every step, with the level of queues", async (t) => {
  const watch = new Watch();
  let seen = 0;
  const sink = collector(() => {
    seen++;
    watch.check();
  });
  const line = 'source uri="test:ball?width=64&height=48" pace=realtime ! decode ! stage buffers=5 ! collect';
  const graph = await start(compiledLaunch(line, sink), [sink]);
  t.after(() => graph.stop());
  const reader = new StatsReader(graph);
  const before = seen;
  await watch.until("frames", () => seen >= before + 10);
  const reading = reader.read();
  assert.deepEqual(
    reading.map(({ step, kind }) => [step, kind]),
    [
      ["source", "native"],
      ["decode", "native"],
      ["stage", "native"],
      ["collect", "typescript"],
    ],
  );
  // The queue of a live source drops frames when this thread is late.
  for (const { step, frames } of reading) assert.ok(frames >= 9, `${frames} frames through ${step}, ${seen} seen`);
  assert.ok((reading[3]?.frames ?? 0) <= seen + 1, `${reading[3]?.frames} frames collected, ${seen} seen`);
  for (const { step, meanMs, p95Ms } of reading.slice(1)) assert.ok(meanMs > 0 && p95Ms > 0, `${step} is timed`);
  assert.equal(reading.find(({ step }) => step === "stage")?.capacity, 5);
  const rateAfter = (ms: number): number | undefined => reader.read(performance.now() + ms)[3]?.fps;
  assert.equal(reading[3]?.fps, 0);
  assert.equal(rateAfter(100), 0, "the interval is too short");
  const looked = seen;
  await watch.until("more frames", () => seen >= looked + 3);
  const rate = rateAfter(1000) ?? 0;
  assert.ok(rate > 0);
  await watch.until("still more frames", () => seen >= looked + 6);
  assert.equal(rateAfter(1100), rate, "a second reader gets the same rate");
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
});
