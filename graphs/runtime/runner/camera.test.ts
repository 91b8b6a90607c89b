import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { HostedRunner } from "./hosted-runner.fixture.ts";
import { jobOn, type TestRunner, times } from "./runner.fixture.ts";

const CAMERA = fileURLToPath(new URL("../../../build/camera", import.meta.url));

const cameras: ChildProcess[] = [];
after(() => {
  for (const camera of cameras) camera.kill("SIGKILL");
});

async function startCamera(port = 0): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(CAMERA, ["--port", String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  cameras.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: (JSON.parse(line.toString()) as { url: string }).url };
}

const capturedMs = (runner: TestRunner): readonly number[] =>
  runner.messages.map(({ message }) => Date.parse((JSON.parse(String(message.line)) as { time: string }).time));
const lastReconnecting = (runner: TestRunner): boolean | undefined => runner.of("reconnecting").at(-1)?.reconnecting;

test("a pause disconnects a camera, and a resume continues at the current time", async () => {
  const { url } = await startCamera();
  const runner = new HostedRunner();
  await runner.start({ sourceUri: url });
  await runner.watch.until("frames", () => runner.messages.length >= 5);
  await runner.ask({ type: "pause" });
  const before = runner.messages.length;
  const pausedMs = Date.now();
  const seen = runner.of("progress").length;
  await runner.watch.until("a second and more", () => runner.of("progress").length >= seen + 2);
  assert.equal(runner.messages.length, before, "frames come while it is paused");
  const resumedMs = Date.now();
  await runner.ask({ type: "resume" });
  await runner.watch.until("frames again", () => runner.messages.length >= before + 5);
  assert.ok((capturedMs(runner)[before] ?? 0) > pausedMs, "what was shown before the pause comes after it");
  // Half of the pause is much: its clock and ours may differ, but not by so much.
  assert.ok((capturedMs(runner)[before] ?? 0) > (pausedMs + resumedMs) / 2);
  const all = times(runner);
  assert.deepEqual(
    all,
    [...all].sort((a, b) => a - b),
  );
  assert.equal(lastReconnecting(runner), undefined, "a pause counts as a loss");
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  const { stats } = runner.of("progress").at(-1) ?? assert.fail("no progress");
  assert.ok(stats.fps_in > 0 && stats.latency_ms.p50 > 0, JSON.stringify(stats));
});

test("a lost camera is retried, also across a pause, and fails if it stays offline", async () => {
  const first = await startCamera();
  const port = Number(new URL(first.url).port);
  const runner = new HostedRunner();
  await runner.start({ sourceUri: first.url, giveUpSeconds: 3 });
  await runner.watch.until("frames", () => runner.messages.length >= 3);
  first.child.kill("SIGKILL");
  await runner.watch.until("the loss", () => lastReconnecting(runner) === true);
  assert.equal(runner.states.at(-1), "running");
  await runner.ask({ type: "pause" });
  assert.equal(lastReconnecting(runner), false, "nothing is retried while it is paused");
  const second = await startCamera(port);
  const before = runner.messages.length;
  await runner.ask({ type: "resume" });
  await runner.watch.until("frames again", () => runner.messages.length >= before + 3);
  assert.equal(lastReconnecting(runner), false);
  second.child.kill("SIGKILL");
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  const { state, failure } = runner.of("state").at(-1) ?? assert.fail("no state");
  assert.equal(state, "failed");
  assert.equal(failure?.kind, "source");
  assert.match(failure?.detail ?? "", /no video for 3(\.\d)? s, giving up/);
});

test("a camera that never answers fails as a source, and a stop meanwhile ends cleanly", async () => {
  const hole = createServer().listen(0, "127.0.0.1");
  await once(hole, "listening");
  after(() => hole.close());
  const sourceUri = `rtsp://u:secret@127.0.0.1:${(hole.address() as AddressInfo).port}/x`;
  const [waiting, stopped] = [new HostedRunner(), new HostedRunner()];
  await Promise.all([waiting.until("hello"), stopped.until("hello")]);
  await Promise.all([
    waiting.reply({ type: "start", job: jobOn({ sourceUri }) }),
    stopped.reply({ type: "start", job: jobOn({ sourceUri }) }).then(() => stopped.ask({ type: "stop" })),
  ]);
  await Promise.all([waiting.exited, stopped.exited]);
  assert.deepEqual(waiting.states, ["starting", "failed"]);
  assert.equal(waiting.of("state").at(-1)?.failure?.kind, "source");
  assert.match(
    waiting.of("state").at(-1)?.failure?.detail ?? "",
    /cannot play rtsp:\/\/\*\*\*@127.*(no data within|does not answer)/,
  );
  assert.equal(stopped.states.at(-1), "finished");
  assert.ok(!JSON.stringify(waiting.received).includes("secret"));
});
