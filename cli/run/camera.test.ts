import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT, spawnWindhover, start, windhover } from "../windhover.fixture.ts";

const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill("SIGKILL");
});

async function startCamera(
  ...args: readonly string[]
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(join(ROOT, "build/camera"), ["--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: (JSON.parse(line.toString()) as { url: string }).url };
}

test("cameras that cannot be played are named without their password, each with its reason", async () => {
  const hole = createServer().listen(0, "127.0.0.1");
  await once(hole, "listening");
  const { port } = hole.address() as AddressInfo;
  const [open, locked] = await Promise.all([startCamera(), startCamera("--user", "u", "--password", "right")]);
  const asked = locked.url.replace("//", "//u:secret@");
  const silent = `rtsp://u:secret@127.0.0.1:${port}/x`;
  const [refused, wrong, none, missing, hangs, logged] = await Promise.all([
    windhover(["run", "demo", "rtsp://u:secret@127.0.0.1:1/x"]),
    windhover(["run", "demo", asked]),
    windhover(["run", "demo", locked.url]),
    windhover(["run", "demo", `${open.url}-not`]),
    windhover(["launch", `source uri=${silent} connect-ms=500 ! decode ! print`]),
    // Changes what GStreamer logs in its whole process.
    spawnWindhover(["run", "demo", "rtsp://u:secret@127.0.0.1:1/x", "--log", "rtspsrc:5"]),
  ]);
  hole.close();
  for (const outcome of [refused, wrong, none, missing, hangs, logged]) {
    assert.equal(outcome?.code, 1, outcome?.stderr);
    assert.doesNotMatch(outcome?.stderr ?? "", /secret/);
    assert.equal(outcome?.stdout, "");
  }
  assert.match(refused?.stderr ?? "", /cannot play rtsp:\/\/\*\*\*@127\.0\.0\.1:1\/x: connection refused/);
  assert.match(wrong?.stderr ?? "", /cannot play rtsp:\/\/\*\*\*@.*\(401\)/);
  assert.match(none?.stderr ?? "", /cannot play rtsp:\/\/127.*\(401\)/);
  assert.match(missing?.stderr ?? "", /cam-not: .*\(404\)/);
  assert.match(logged?.stderr ?? "", /^debug rtspsrc pull: .*rtsp:\/\/\*\*\*@127/m);
  assert.match(hangs?.stderr ?? "", /no data within 0\.5 s/);
});

test("a camera that freezes is given up when its time is over", async () => {
  const { child, url } = await startCamera();
  const run = start(["launch", `source uri=${url} stall-ms=2000 connect-ms=5000 give-up-seconds=1 ! decode ! print`]);
  await run.until(({ printed }) => printed >= 5);
  child.kill("SIGSTOP");
  const { code, stderr } = await run.done;
  assert.equal(code, 1);
  assert.match(stderr, /source: lost: no data for/);
  assert.match(stderr, /cannot play rtsp:.*giving up/);
});

test("Ctrl-C while a camera is being connected to is a clean end", async () => {
  const hole = createServer().listen(0, "127.0.0.1");
  await once(hole, "listening");
  const run = start(["run", "demo", `rtsp://127.0.0.1:${(hole.address() as AddressInfo).port}/x`]);
  await Promise.race([once(hole, "connection"), run.done]);
  run.child.kill("SIGINT");
  const { code, stderr } = await run.done;
  hole.close();
  assert.equal(code, 0, stderr);
  assert.match(stderr, /demo: 0 frames/);
});
