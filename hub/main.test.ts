import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { findHubPorts } from "../test/ports.fixture.ts";
import { ForkedHub, type HubOptions } from "./hub.fixture.ts";
import { makeFlv } from "./rtmp/clips.fixture.ts";

async function open(t: TestContext, options: HubOptions = {}): Promise<ForkedHub> {
  const hub = await ForkedHub.open(options);
  t.after(() => hub.remove());
  await hub.ports();
  return hub;
}

const film = await makeFlv({ size: "320x180" });

/** Until the end of the test. */
function publish(t: TestContext, url: string): ChildProcess {
  const format = url.startsWith("rtmp") ? ["-f", "flv"] : ["-f", "rtsp", "-rtsp_transport", "tcp"];
  const args = ["-v", "error", "-re", "-stream_loop", "-1", "-i", film, "-c", "copy", ...format, url];
  const child = spawn("ffmpeg", args, { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function get(hub: ForkedHub, path: string, method = "GET", body = ""): Promise<{ status: number; text: string }> {
  const asked = request({ socketPath: join(hub.folder, "hub.sock"), path, method });
  asked.end(body);
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const piece of answer) text += piece;
  return { status: answer.statusCode, text };
}

test("accepts RTSP and RTMP publishers, reports, counts and records their streams, and shuts down in order", async (t) => {
  const hub = await open(t, {
    decide: ({ path }) => ({ refusal: null, recording: path === "anna/rtmp" ? "rec-1" : null }),
  });
  publish(t, await hub.rtsp("anna/rtsp?api_key=k"));
  publish(t, await hub.rtmp("anna/rtmp"));
  for (const protocol of ["rtsp", "rtmp"] as const) {
    const { stream } = await hub.next("published", ({ stream }) => stream.protocol === protocol);
    assert.deepEqual(stream, {
      path: `anna/${protocol}`,
      protocol,
      codec: "h264",
      width: 320,
      height: 180,
      hasAudio: false,
    });
  }
  const { segment } = await hub.next("segment", ({ segment }) => segment.durationMs > 900);
  assert.deepEqual([segment.recording, segment.path, segment.index], ["rec-1", "anna/rtmp", 0]);
  const stats = await hub.next(
    "stats",
    ({ streams }) => streams.length === 2 && streams.every(({ pictures }) => pictures > 10),
  );
  assert.ok(stats.rssBytes > 0 && stats.connections === 2);
  hub.send({ type: "stop" });
  assert.equal(await hub.exited, 0);
  const { detail } = await hub.next("recorded");
  assert.equal(detail, null);
  assert.equal(hub.all("unpublished").length, 2);
  assert.deepEqual(await readdir(join(hub.folder, "recordings", "rec-1")), ["0.mp4"]);
});

test("after a kill, the next hub uses the same ports and finishes the recordings", async (t) => {
  const { RTSP_PORT, RTMP_PORT } = await findHubPorts();
  const rtsp = { host: "127.0.0.1", port: Number(RTSP_PORT) };
  const rtmp = { host: "127.0.0.1", port: Number(RTMP_PORT) };
  const killed = await open(t, {
    decide: () => ({ refusal: null, recording: "rec-1" }),
    settings: { rtsp, rtmp },
  });
  publish(t, await killed.rtmp("anna/drone"));
  await killed.next("segment", ({ segment }) => segment.durationMs > 900);
  killed.child.kill("SIGKILL");
  assert.equal(await killed.exited, "SIGKILL");
  const toldMs = killed.all("segment").at(-1)?.segment.durationMs ?? 0;
  const next = await open(t, {
    folder: killed.folder,
    settings: { rtsp, rtmp },
  });
  const ready = await next.ports();
  assert.deepEqual([ready.rtspPort, ready.rtmpPort], [rtsp.port, rtmp.port]);
  const { detail, recording } = await next.next("recorded");
  assert.deepEqual([recording, detail], ["rec-1", "the media server was restarted"]);
  assert.ok((next.all("segment").at(-1)?.segment.durationMs ?? 0) >= toldMs);
  publish(t, await next.rtsp("anna/drone?api_key=k"));
  await next.next("published");
});

describe("clients that the server rejects or expels", () => {
  let hub: ForkedHub;
  before(async () => {
    const wrong = { refusal: { kind: "unauthorized", detail: "no such key" }, recording: null } as const;
    hub = await ForkedHub.open({
      decide: ({ secret, path }) =>
        secret === "wrong" ? wrong : { refusal: null, recording: path === "anna/drone" ? "rec" : null },
    });
    await hub.ports();
  });
  after(() => hub.remove());

  test("rejects clients that the server does not authorize", async (t) => {
    const wrong = [
      publish(t, await hub.rtmp("anna/a?api_key=wrong")),
      publish(t, await hub.rtsp("anna/b?api_key=wrong")),
    ];
    await Promise.all(wrong.map((child) => once(child, "exit")));
    publish(t, await hub.rtmp("anna/c?api_key=right"));
    const { stream } = await hub.next("published");
    assert.equal(stream.path, "anna/c");
    assert.equal(hub.all("published").length, 1);
  });

  test("disconnects expelled clients, and stops recordings on request", async (t) => {
    const publisher = publish(t, await hub.rtmp("anna/drone"));
    await hub.next("segment");
    hub.send({ type: "recording", allowed: false });
    const { detail } = await hub.next("recorded");
    assert.match(detail ?? "", /the disk is nearly full/);
    const ends = () => hub.all("unpublished").filter(({ path }) => path === "anna/drone");
    assert.deepEqual(ends(), []);
    hub.send({ type: "expel", path: "anna/drone", reason: "its source is gone" });
    assert.equal((await hub.next("unpublished", ({ path }) => path === "anna/drone")).reason, "its source is gone");
    await once(publisher, "exit");
  });
});

test("closes a frozen publisher, and frees its path", async (t) => {
  const hub = await open(t, { limits: { frozenMs: 1500 } });
  const frozen = publish(t, await hub.rtmp("anna/drone"));
  await hub.next("published");
  frozen.kill("SIGSTOP");
  assert.equal((await hub.next("unpublished")).reason, "no video received for 1.5 s");
  publish(t, await hub.rtsp("anna/drone?api_key=k"));
  await hub.next("published", ({ stream }) => stream.protocol === "rtsp");
});

test("reports a port that is in use, and exits", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const hub = await ForkedHub.open({ settings: { rtmp: { host: "127.0.0.1", port } } });
  t.after(() => hub.remove());
  const message = `the media hub cannot listen on 127.0.0.1:${port} for RTMP: another process listens there`;
  await assert.rejects(hub.ports(), { message });
  assert.equal(await hub.exited, 1);
});

test("exits without its server, with intact recordings", async (t) => {
  const hub = await open(t, { decide: () => ({ refusal: null, recording: "rec" }) });
  publish(t, await hub.rtsp("anna/drone?api_key=k"));
  await hub.next("segment");
  hub.child.disconnect();
  assert.equal(await hub.exited, 0);
  const file = join(hub.folder, "recordings", "rec", "0.mp4");
  const seconds = execFileSync("ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", file]);
  assert.ok(Number(seconds) > 0, String(seconds));
});

describe("without publishers", () => {
  let hub: ForkedHub;
  before(async () => {
    hub = await ForkedHub.open({ limits: { connections: 3 } });
    await hub.ports();
  });
  after(() => hub.remove());

  test("answers HTTP requests with reasons, on a private socket", async () => {
    const answers = await Promise.all([
      get(hub, "/hls/anna/missing/index.m3u8"),
      get(hub, "/hls/../x/index.m3u8"),
      get(hub, "/whep/anna/missing", "POST", "v=0"),
      get(hub, "/whep/anna/drone", "POST", "x".repeat(100_000)),
      get(hub, "/whep/anna/drone/missing", "DELETE"),
      get(hub, "/etc/passwd"),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 400, 413, 404, 404],
    );
    for (const { text } of answers) assert.ok(text.length > 5, text);
  });

  test("logs and ignores invalid messages from the server", async () => {
    hub.child.send({ type: "expel" });
    hub.child.send({ type: "dance" });
    hub.child.send("nothing");
    await hub.next("log", ({ message }) => message.startsWith("invalid message from the server"));
    assert.equal((await get(hub, "/nothing")).status, 404);
  });

  test("closes connections beyond the limit immediately, and counts them", async (t) => {
    const { rtspPort, rtmpPort } = await hub.ports();
    const sockets = [rtspPort, rtmpPort, rtspPort].map((port) => connect(port, "127.0.0.1"));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    await hub.next("stats", ({ connections }) => connections === 3);
    const late = connect(rtmpPort, "127.0.0.1");
    late.on("error", () => {});
    await once(late, "close");
    const stats = await hub.next("stats", ({ refused }) => refused > 0);
    assert.equal(stats.connections, 3);
  });
});
