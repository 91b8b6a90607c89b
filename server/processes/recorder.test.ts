import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../store/database.fixture.ts";
import { Recorder } from "./recorder.ts";

function open(segmentMs: number) {
  const asked: string[] = [];
  const wishes = { hasSpace: true, isRunning: true, isWanted: true, fails: "" };
  const clock = { nowMs: 0 };
  let files = 0;
  const ask = async (order: string) => {
    if (order.startsWith(wishes.fails) && wishes.fails !== "") throw new Error("the runner is busy");
    asked.push(order);
  };
  const recorder = new Recorder({
    ...{ processUuid: "p", log: silentLog },
    recordings: {
      ...{ isAllowed: () => wishes.hasSpace, isWanted: () => wishes.isWanted, segmentMs },
      nextFile: async () => `/${files++}.mp4`,
    },
    machine: {
      get state() {
        return wishes.isRunning ? ("running" as const) : ("paused" as const);
      },
    },
    link: {
      attach: ({ id, params }) => ask(`attach ${id} ${params.path}`),
      detach: (id) => ask(`detach ${id}`),
    },
    now: () => clock.nowMs,
  });
  return { recorder, asked, wishes, clock };
}

const reported = (attachment: string, framesDropped: number) =>
  ({ type: "attachment", attachment, status: "live", detail: null, framesSent: 0, framesDropped }) as const;

test("begins the next file before the one that is long enough ends", async () => {
  const { recorder, asked } = open(0);
  await recorder.prepare();
  assert.deepEqual(
    recorder.beginRun().map(({ id, params }) => [id, params.path]),
    [["recording", "/0.mp4"]],
  );
  recorder.handle(reported("recording", 3));
  await recorder.tend();
  recorder.handle(reported("recording-next", 4));
  recorder.handle(reported("recording", 99));
  await recorder.tend();
  assert.deepEqual(asked, [
    ...["attach recording-next /1.mp4", "detach recording"],
    ...["attach recording /2.mp4", "detach recording-next"],
  ]);
  assert.deepEqual(recorder.state, { isRecording: true, detail: null, framesDropped: 7 });
});

test("continues a file that is not long enough, or while the process is paused", async () => {
  for (const [segmentMs, isRunning] of [
    [600_000, true],
    [0, false],
  ] as const) {
    const { recorder, asked, wishes } = open(segmentMs);
    wishes.isRunning = isRunning;
    await recorder.prepare();
    recorder.beginRun();
    await recorder.tend();
    assert.deepEqual(asked, []);
  }
});

test("continues a file when the next one cannot begin, and ends later one that could not be ended", async () => {
  const { recorder, asked, wishes, clock } = open(0);
  await recorder.prepare();
  recorder.beginRun();
  wishes.fails = "attach";
  await recorder.tend();
  assert.deepEqual([asked, recorder.state.isRecording], [[], true]);
  clock.nowMs += 5_000;
  wishes.fails = "detach";
  await assert.rejects(recorder.tend());
  wishes.fails = "";
  wishes.hasSpace = false;
  await recorder.tend();
  assert.deepEqual(asked, ["attach recording-next /2.mp4", "detach recording", "detach recording-next"]);
  assert.deepEqual(recorder.state, { isRecording: false, detail: "the disk is nearly full", framesDropped: 0 });
});

test("ends a file that cannot be written, shows why, and retries with growing delays", async () => {
  const { recorder, asked, clock } = open(600_000);
  const waits: number[] = [];
  await recorder.prepare();
  recorder.beginRun();
  for (let round = 0; round < 3; round++) {
    recorder.handle({ ...reported("recording", 2), status: "failed", detail: "No space left on the resource." });
    assert.equal(recorder.state.isRecording, false);
    assert.match(recorder.state.detail ?? "", /No space left.*retried/);
    const sinceMs = clock.nowMs;
    const begun = asked.length;
    for (; asked.length < begun + 2; clock.nowMs += 500) await recorder.tend();
    assert.deepEqual(asked.slice(begun), ["detach recording", `attach recording /${round + 1}.mp4`]);
    waits.push(clock.nowMs - sinceMs);
  }
  assert.deepEqual(recorder.state, { isRecording: true, detail: null, framesDropped: 6 });
  const [first = 0, , third = 0] = waits;
  assert.ok(first >= 2500 && third > first, waits.join());
});

test("ends when the user switches it off, and begins another file when it is switched on", async () => {
  const { recorder, asked, wishes } = open(600_000);
  await recorder.prepare();
  recorder.beginRun();
  wishes.isWanted = false;
  await recorder.tend();
  assert.deepEqual([asked, recorder.state.isRecording], [["detach recording"], false]);
  assert.equal(recorder.state.detail, "recording is switched off");
  // Nor does the next runner record it.
  await recorder.prepare();
  assert.deepEqual(recorder.beginRun(), []);
  wishes.isWanted = true;
  await recorder.tend();
  assert.deepEqual(asked.at(-1), "attach recording /1.mp4");
  assert.equal(recorder.state.detail, null);
});
