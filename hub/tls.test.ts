/** RTSPS and RTMPS: a real certificate, real clients. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { ForkedHub } from "./hub.fixture.ts";
import { makeFlv } from "./rtmp/clips.fixture.ts";
import { ffmpeg, testFolder } from "./rtmp/rtmp.fixture.ts";
import { expectTransport } from "./rtsp/transport.ts";

const folder = testFolder();
const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
execFileSync("openssl", [...options.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
const tls = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8"), rtspPort: 0, rtmpPort: 0 };
const hub = await ForkedHub.open({ settings: { tls }, limits: { helloMs: 2000, connections: 8 } });
after(() => hub.remove());
const { rtspsPort, rtmpsPort } = await hub.ports();
const film = await makeFlv({ frames: 100 });

test("publishes by RTMPS and plays by RTSPS", async () => {
  const url = `rtmps://127.0.0.1:${rtmpsPort}/ann/film?api_key=x`;
  const publishing = ffmpeg("-re", "-i", film, "-c", "copy", "-f", "flv", url);
  await hub.next("published", ({ stream }) => stream.path === "ann/film" && stream.protocol === "rtmp");
  const played = join(folder, "played.mp4");
  const from = `rtsps://any:x@127.0.0.1:${rtspsPort}/ann/film`;
  const playing = await ffmpeg("-rtsp_transport", "tcp", "-i", from, "-c", "copy", "-frames:v", "20", played);
  assert.equal(playing.code, 0, playing.output);
  assert.equal((await publishing).code, 0);
});

test("publishes by RTSPS in the connection, and rejects UDP, which would not be encrypted", async () => {
  const url = (path: string) => `rtsps://any:x@127.0.0.1:${rtspsPort}/${path}`;
  const tcp = await ffmpeg(
    "-re",
    "-i",
    film,
    "-c",
    "copy",
    "-frames:v",
    "30",
    "-f",
    "rtsp",
    "-rtsp_transport",
    "tcp",
    url("ann/tcp"),
  );
  assert.equal(tcp.code, 0, tcp.output);
  assert.ok(hub.all("published").some(({ stream }) => stream.path === "ann/tcp" && stream.protocol === "rtsp"));
  const udp = "RTP/AVP;unicast;client_port=5000-5001;mode=record";
  assert.throws(() => expectTransport(udp, true, null, { isSecure: true }), { status: 461 });
  assert.equal(expectTransport(udp, true, null, { isSecure: false }).kind, "udp");
});

test("a client that does not begin the handshake is disconnected, and counts as a connection until then", async () => {
  const sockets = Array.from({ length: 8 }, () =>
    connect(rtspsPort ?? 0, "127.0.0.1")
      .on("error", () => {})
      .resume(),
  );
  after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await hub.next("stats", ({ connections }) => connections >= 7);
  const seen = hub.messages.length;
  await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()))));
  await hub.next("stats", (message) => message.connections === 0 && hub.messages.indexOf(message) >= seen);
});
