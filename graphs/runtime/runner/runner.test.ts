import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Value } from "typebox/value";
import { DetectionMessage } from "../../../schemas/detection-message.ts";
import { makeClip, temporaryFolder } from "../../../test/graph.fixture.ts";
import { HostedRunner } from "./hosted-runner.fixture.ts";
import { ForkedRunner, jobOn, times } from "./runner.fixture.ts";

const folder = temporaryFolder();
const SELF = fileURLToPath(import.meta.url);
const SHORT = "test:ball?width=64&height=48&frames=15";
const ENDLESS = "test:ball?width=64&height=48";

test("sends a message for every frame of a file, in order, and finishes", async () => {
  const clip = await makeClip(folder, 40, "width=64&height=48");
  const runner = new ForkedRunner();
  await runner.start({ sourceUri: clip });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  assert.deepEqual(runner.states, ["starting", "running", "finished"]);
  assert.deepEqual(
    times(runner),
    Array.from({ length: 40 }, (_, index) => index * 40),
  );
  const order = runner.received.filter(({ type }) => type === "flowing" || type === "message").map(({ type }) => type);
  assert.equal(order[0], "flowing");
  const last = runner.of("progress").at(-1);
  assert.ok(BigInt(last?.positionNs ?? 0) >= 1_600_000_000n, last?.positionNs);
  assert.equal(last?.messagesLost, 0);
  assert.ok((last?.runningMs ?? 0) > 0);
  assert.equal(runner.received.indexOf(runner.of("state").at(-1) as never), runner.received.length - 1);
});

test("messages have the file name of the source, and the start time and PTS of frames", async () => {
  const clip = await makeClip(folder, 12, "width=64&height=48");
  const runner = new HostedRunner();
  const epochMs = Date.UTC(2025, 0, 1);
  await runner.start({ sourceUri: clip, epochMs });
  await runner.exited;
  const captured = runner.messages.map(({ message }) => JSON.parse(String(message.line)).time as string);
  assert.deepEqual(captured.slice(0, 2), ["2025-01-01T00:00:00.000Z", "2025-01-01T00:00:00.040Z"]);
});

test("the graph `detect` sends detections in the published form", async () => {
  const runner = new ForkedRunner();
  const uuid = "01890000-0000-7000-8000-0000000000aa";
  await runner.start({ uuid, sourceUri: ENDLESS, sourceLabel: "the yard", graph: "detect", graphText: null });
  const detections = () => runner.messages.filter(({ channel }) => channel === "detection_data");
  await runner.watch.until("detections", () => detections().length >= 3);
  await runner.until("progress", ({ stats }) => stats.fps_processed > 0 && stats.inference_ms > 0);
  const [first] = detections();
  assert.equal(Value.Check(DetectionMessage, first?.message), true, JSON.stringify(first));
  assert.deepEqual([first?.message.process_uuid, first?.message.source_uri], [uuid, "the yard"]);
  await runner.ask({ type: "set", nodes: { detect: { confidence: 0.9, classes: ["person"] } } });
  await assert.rejects(runner.ask({ type: "set", nodes: { detect: { confidnce: 1 } } }), /did you mean "confidence"/);
  await assert.rejects(runner.ask({ type: "set", nodes: { detect: { classes: ["unicorn"] } } }), /unicorn/);
  await assert.rejects(runner.ask({ type: "set", nodes: { detect: { model: "/etc/passwd" } } }), /while PLAYING/);
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
});

test("plays a looped file as a live source: past its end, in order, without frames to lose", async () => {
  const clip = await makeClip(folder, 40, "width=64&height=48");
  const runner = new HostedRunner();
  await runner.start({ sourceUri: clip, sourceLoops: true });
  await runner.watch.until("100 frames of a file of 40", () => runner.messages.length >= 100);
  const captured = runner.messages.map(({ message }) => Date.parse(JSON.parse(String(message.line)).time));
  assert.ok(captured.every((ms, index) => index === 0 || ms > (captured[index - 1] ?? 0)));
  assert.deepEqual([runner.states, runner.of("reconnecting")], [["starting", "running"], []]);
  const { framesLost, framesLeft } = await runner.until("progress", ({ stats }) => stats.latency_ms.p50 > 0);
  assert.deepEqual([framesLost, framesLeft], [0, undefined]);
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
});

test("explains a looped file that is not a video", async () => {
  const runner = new HostedRunner();
  await runner.start({ sourceUri: SELF, sourceLoops: true }).catch(() => {});
  await runner.exited;
  const { failure } = runner.of("state").at(-1) ?? {};
  assert.equal(failure?.kind, "source");
  assert.match(failure?.detail ?? "", /^cannot play the video: /);
});

test("a file starts at its position, without earlier frames and without gaps", async () => {
  const clip = await makeClip(folder, 40, "width=64&height=48");
  const runner = new HostedRunner();
  await runner.start({ sourceUri: clip, positionNs: "1000000000", epochMs: 0 });
  await runner.exited;
  assert.deepEqual(
    times(runner),
    Array.from({ length: 15 }, (_, index) => 1000 + index * 40),
  );
  const [first] = runner.messages.map(({ message }) => JSON.parse(String(message.line)).time as string);
  assert.equal(first, "1970-01-01T00:00:01.000Z");
});

test("the next runner resumes at the position: each frame is sent once", async () => {
  const clip = await makeClip(folder, 60, "width=64&height=48");
  const first = new HostedRunner();
  await first.start({ sourceUri: clip });
  await first.watch.until("frames", () => first.messages.length >= 20);
  await first.ask({ type: "stop" });
  await first.exited;
  const { positionNs, nextTrackId } = first.of("progress").at(-1) ?? assert.fail("no progress");
  const second = new HostedRunner();
  await second.start({ sourceUri: clip, positionNs, firstTrackId: nextTrackId });
  await second.exited;
  assert.deepEqual(
    [...times(first), ...times(second)],
    Array.from({ length: 60 }, (_, index) => index * 40),
  );
});

test("a position after the end finishes at once", async () => {
  const clip = await makeClip(folder, 12, "width=64&height=48");
  const runner = new HostedRunner();
  await runner.start({ sourceUri: clip, positionNs: "3600000000000" });
  await runner.exited;
  assert.deepEqual([runner.messages.length, runner.states.at(-1)], [0, "finished"]);
});

test("a paused file continues at its position, and the pause does not count as running time", async () => {
  const clip = await makeClip(folder, 60, "width=64&height=48");
  const runner = new HostedRunner();
  await runner.start({ sourceUri: clip });
  await runner.watch.until("frames", () => runner.messages.length >= 10);
  await runner.ask({ type: "pause" });
  await runner.watch.until("the pause", () => runner.states.at(-1) === "paused");
  await assert.rejects(runner.ask({ type: "pause" }), /wrong_state: the runner is paused/);
  // What was reported before the pause has an earlier time.
  const seen = runner.of("progress").length;
  await runner.watch.until("progress while paused", () => runner.of("progress").length >= seen + 3);
  const [first, , last] = runner.of("progress").slice(seen);
  assert.ok(first !== undefined && last !== undefined);
  assert.ok(Math.abs(last.runningMs - first.runningMs) <= 1, "running time grows during a pause");
  await runner.ask({ type: "resume" });
  await assert.rejects(runner.ask({ type: "resume" }), /wrong_state: the runner is running/);
  await runner.exited;
  assert.deepEqual(runner.states, ["starting", "running", "paused", "running", "finished"]);
  assert.deepEqual(
    times(runner),
    Array.from({ length: 60 }, (_, index) => index * 40),
  );
});

test("a stop during a pause ends cleanly", async () => {
  const runner = new HostedRunner();
  await runner.start({ sourceUri: ENDLESS });
  await runner.until("flowing");
  await runner.ask({ type: "pause" });
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null]);
  assert.deepEqual(runner.states.slice(-3), ["paused", "stopping", "finished"]);
});

test("a stop before and during the start ends it", async () => {
  const early = new HostedRunner();
  await early.until("hello");
  await early.ask({ type: "stop" });
  assert.deepEqual(await early.exited, [0, null]);
  const runner = new HostedRunner();
  await runner.until("hello");
  const started = runner.reply({ type: "start", job: jobOn({ sourceUri: ENDLESS }) });
  const stopped = runner.reply({ type: "stop" });
  await Promise.all([started, stopped]);
  assert.deepEqual(await runner.exited, [0, null]);
  assert.equal(runner.states.at(-1), "finished");
  assert.deepEqual(
    runner.of("reply").map(({ id }) => id),
    [1, 2],
  );
});

for (const [what, job, kind, detail] of [
  ["a graph that is not installed", { graph: "detct", graphText: null }, "graph", /unknown graph "detct"/],
  ["a graph by a path", { graph: "../graphs/detect", graphText: null }, "graph", /unknown graph/],
  ["a graph with faults", { graphText: "graph: x\nchains: { main: [source, decod] }" }, "graph", /decod/],
  ["a file that is not there", { sourceUri: join(folder, "gone.mp4") }, "source", /the video/],
  ["a file that is not a video", { sourceUri: SELF }, "source", /the video is not a video but a text file/],
  [
    "a camera that is switched off",
    { sourceUri: "rtsp://u:secret@127.0.0.1:1/x", sourceLabel: "rtsp://***@yard:1/x" },
    "source",
    /^cannot play rtsp:\/\/\*\*\*@yard:1\/x: connection refused/,
  ],
] as const)
  test(`${what} fails as ${kind}, with a reason without paths and passwords`, async () => {
    const runner = new HostedRunner();
    await runner.until("hello");
    const started = await runner.reply({ type: "start", job: jobOn({ sourceUri: SHORT, ...job }) });
    assert.deepEqual(await runner.exited, [0, null], runner.stderr);
    const { state, failure } = runner.of("state").at(-1) ?? assert.fail("no state");
    assert.equal(state, "failed");
    assert.equal(failure?.kind, kind, failure?.detail);
    assert.match(failure?.detail ?? "", detail);
    if (started.error !== null) assert.equal(started.error.kind, kind);
    const said = JSON.stringify(runner.received);
    assert.ok(!said.includes(folder) && !said.includes("secret") && !said.includes(SELF), said);
  });

test("rejects invalid messages and continues", async () => {
  const runner = new ForkedRunner();
  await runner.until("hello");
  for (const garbage of [
    null,
    1,
    "stop",
    [],
    {},
    { type: "fly", id: 999 },
    { type: "stop" },
    { type: "pause", id: "x" },
  ])
    runner.child.send(garbage as never);
  await runner.until("log", ({ message }) => message.includes("ignored"));
  const wrong = { type: "start", job: { ...jobOn({ sourceUri: SHORT }), positionNs: "-1" } } as const;
  await assert.rejects(runner.ask(wrong), /invalid: .*positionNs/);
  await assert.rejects(runner.ask({ type: "pause" }), /wrong_state/);
  await assert.rejects(
    runner.ask({ type: "describe", format: "json" }),
    /wrong_state: the runner is \w+; expected a running graph/,
  );
  await runner.start({ sourceUri: SHORT });
  await assert.rejects(runner.ask({ type: "start", job: jobOn({ sourceUri: SHORT }) }), /wrong_state: .*expected idle/);
  await runner.exited;
  assert.equal(runner.states.at(-1), "finished");
});
