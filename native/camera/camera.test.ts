import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const CAMERA = fileURLToPath(new URL("../../build/camera", import.meta.url));

async function startCamera(t: TestContext, ...args: string[]): Promise<{ camera: ChildProcess; url: string }> {
  const camera = spawn(CAMERA, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => camera.kill("SIGKILL"));
  const [line] = await once(camera.stdout, "data");
  return { camera, url: JSON.parse(String(line)).url };
}

/**
 * Decodes ten frames with gst-launch; resolves with their number and the output. The exit code is not checked: it depends on
 * timing when a player leaves a live stream.
 */
async function play(url: string): Promise<{ frames: number; said: string }> {
  const pipeline = `rtspsrc location=${url} protocols=tcp latency=0 ! decodebin ! fakesink silent=false`;
  const player = spawn("timeout", ["30", "gst-launch-1.0", "-v", ...pipeline.split(" ")]);
  let frames = 0;
  let said = "";
  for (const stream of [player.stdout, player.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      if (!line.includes("last-message = chain")) said += `${line}\n`;
      else if (++frames === 10) player.kill();
    });
  }
  await once(player, "close");
  return { frames, said };
}

test("serves two players at once", async (t) => {
  const { url } = await startCamera(t, "--path", "/yard/east");
  assert.match(url, /^rtsp:\/\/127\.0\.0\.1:\d+\/yard\/east$/);
  for (const { frames, said } of await Promise.all([play(url), play(url)])) assert.ok(frames >= 10, said);
});

test("serves h265", async (t) => {
  const { url } = await startCamera(t, "--codec", "h265");
  const { frames, said } = await play(url);
  assert.ok(frames >= 10, said);
});

test("serves jpeg, and requires its password", async (t) => {
  const { url } = await startCamera(t, "--codec", "jpeg", "--user", "eve", "--password", "s3cret");
  assert.match((await play(url)).said, /Unauthorized/);
  const { frames, said } = await play(url.replace("//", "//eve:s3cret@"));
  assert.ok(frames >= 10, said);
});

test("restarts on the port it was killed on", async (t) => {
  const first = await startCamera(t);
  first.camera.kill("SIGKILL");
  await once(first.camera, "exit");
  const second = await startCamera(t, "--port", new URL(first.url).port);
  assert.equal(second.url, first.url);
  const { frames, said } = await play(second.url);
  assert.ok(frames >= 10, said);
});

test("serves a player that connected while it was stopped, once it continues", async (t) => {
  const { camera, url } = await startCamera(t);
  camera.kill("SIGSTOP");
  const player = play(url);
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  // The kernel accepts connections for a stopped process.
  await once(socket, "connect");
  camera.kill("SIGCONT");
  const { frames, said } = await player;
  assert.ok(frames >= 10, said);
});

test("exits with 0 on SIGTERM", async (t) => {
  const { camera } = await startCamera(t);
  camera.kill("SIGTERM");
  assert.deepEqual(await once(camera, "exit"), [0, null]);
});

test("is killed with its parent", async () => {
  const script = `
    const camera = require("node:child_process").spawn(process.argv[1], { stdio: ["ignore", "pipe", "inherit"] });
    camera.stdout.once("data", () => console.log(camera.pid));`;
  const owner = spawn(process.execPath, ["--eval", script, CAMERA]);
  const [line] = await once(owner.stdout, "data");
  const stat = `/proc/${Number(line)}/stat`;
  assert.ok(existsSync(stat));
  owner.kill("SIGKILL");
  // A zombie counts as dead.
  while (existsSync(stat) && !/ Z /.test(readFileSync(stat, "utf8"))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

const rejections: readonly (readonly [args: readonly string[], reason: RegExp])[] = [
  [["--prt", "1"], /unknown option --prt: expected --port/],
  [["--port"], /--port needs a value/],
  [["--port", "many"], /whole number from 0 to 65535, not "many"/],
  [["--width", "321"], /even number, not 321/],
  [["--codec", "av1"], /h264, h265 or jpeg, not "av1"/],
  [["--path", "/a b"], /not "\/a b"/],
  [["--user", "eve"], /come together/],
];
for (const [args, reason] of rejections) {
  test(`rejects ${args.join(" ")}`, () => {
    const { status, stderr } = spawnSync(CAMERA, args, { encoding: "utf8", timeout: 30_000 });
    assert.equal(status, 2);
    assert.match(stderr, reason);
  });
}
