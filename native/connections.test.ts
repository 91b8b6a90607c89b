import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { listen, listenRedirecting, replyRtsp } from "../test/ports.fixture.ts";
import { withFolder } from "./film.fixture.ts";
import { type AllowedHost, allowConnections, closeAutoplug, listFactories } from "./gstreamer.ts";
import { NO_HANG, play } from "./pipeline.fixture.ts";

const HERE: AllowedHost = { host: "127.0.0.1", addresses: [] };

/** The error when playing. */
const faultOf = (location: string, factory = "rtspsrc"): Promise<string> =>
  play({
    in: [factory, { location, ...(factory === "rtspsrc" && { protocols: "tcp" }) }],
    out: ["fakesink"],
  }).then(
    () => assert.fail("it played"),
    (error: Error) => error.message,
  );

test("an RTSP redirect to another host fails unless that host is allowed", NO_HANG, async () => {
  const inner = await listen((request) => replyRtsp(request, "404 Not Found"), "127.0.0.2");
  const camera = await listenRedirecting(`rtsp://127.0.0.2:${inner.port}/inside`);
  allowConnections([HERE]);
  await faultOf(`rtsp://127.0.0.1:${camera.port}/x`);
  assert.ok(camera.received.some((request) => request.startsWith("DESCRIBE")));
  assert.equal(inner.connections.length, 0, inner.received.join("\n"));
  allowConnections([HERE, { host: "127.0.0.2", addresses: [] }]);
  await faultOf(`rtsp://127.0.0.1:${camera.port}/x`);
  assert.ok(inner.connections.length > 0, "the attack works where nothing stops it");
});

test("a host name, in upper or lower case, resolves to its checked addresses only", NO_HANG, async () => {
  const camera = await listen((request) => replyRtsp(request, "404 Not Found"));
  allowConnections([{ host: "camera.invalid", addresses: ["127.0.0.1"] }]);
  await faultOf(`rtsp://Camera.INVALID:${camera.port}/x`);
  assert.ok(camera.received.length > 0, "not reached");
  const before = camera.connections.length;
  await faultOf(`rtmp://127.0.0.1:${camera.port}/live/x`, "rtmp2src");
  assert.equal(camera.connections.length, before, "the bare address is not allowed");
});

const dash = (url: string): string =>
  `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S" minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1" codecs="avc1.42c00d" width="64" height="48"><BaseURL>${url}</BaseURL><SegmentBase indexRange="0-99"><Initialization range="0-9"/></SegmentBase></Representation></AdaptationSet></Period></MPD>`;

test("playlists are not played and fetch nothing", NO_HANG, async () => {
  const server = await listen(() => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  allowConnections([HERE]);
  await withFolder(async (folder) => {
    const location = join(folder, "film.mp4");
    await writeFile(location, dash(`http://127.0.0.1:${server.port}/x`));
    const steps = {
      file: ["filesrc", { location }],
      bin: ["decodebin", {}, "video/x-raw"],
      out: ["fakesink"],
    } as const;
    await assert.rejects(play(steps));
    assert.ok(server.connections.length > 0, "the attack works where nothing stops it");
    const before = server.connections.length;
    closeAutoplug();
    await assert.rejects(play(steps));
    assert.equal(server.connections.length, before, server.received.join("\n"));
  });
  const fetching = (listFactories() as readonly { name: string; rank: number }[]).filter(({ name }) =>
    /^(dash|hls|mss)demux2?$|^(soup|curl|neon)httpsrc$|^giosrc$|^sdpdemux$/.test(name),
  );
  assert.ok(fetching.length >= 5);
  for (const { name, rank } of fetching) assert.equal(rank, 0, name);
});
