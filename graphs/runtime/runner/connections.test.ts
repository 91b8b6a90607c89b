/** Servers and files that would lead a runner elsewhere: it connects to its source and to nothing else. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { H264, withFolder } from "../../../native/film.fixture.ts";
import { NO_HANG, pictures, play } from "../../../native/pipeline.fixture.ts";
import { listen, listenRedirecting } from "../../../test/listener.fixture.ts";
import { examineVideo } from "../probe/examine-video.ts";
import { ForkedRunner, times } from "./runner.fixture.ts";

test("does not follow an RTSP redirect to another host", NO_HANG, async () => {
  const inner = await listen(() => "", "127.0.0.2");
  const camera = await listenRedirecting(`rtsp://127.0.0.2:${inner.port}/inside`);
  const runner = new ForkedRunner();
  await runner.start({ sourceUri: `rtsp://127.0.0.1:${camera.port}/x` }).catch(() => {});
  await runner.until("state", ({ state }) => state === "failed");
  assert.ok(camera.received.some((request) => request.startsWith("DESCRIBE")));
  assert.equal(inner.connections.length, 0, inner.received.join("\n"));
});

/**
 * A film that begins with free space and a box of an unknown type: demuxers skip both, and what looks for the type
 * of the file gives the film up there and finds the playlist in the free space.
 */
async function makePolyglot(file: string, url: string): Promise<void> {
  const muxer = ["mp4mux", { "fragment-duration": 200 }] as const;
  await play({ ...pictures(20), ...H264, muxer, file: ["filesink", { location: file }] });
  const playlist = `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S" minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1" codecs="avc1.42c00d" width="64" height="48"><BaseURL>${url}</BaseURL><SegmentBase indexRange="0-99"><Initialization range="0-9"/></SegmentBase></Representation></AdaptationSet></Period></MPD>`;
  const box = (type: string, body: string): Buffer => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(8 + body.length);
    return Buffer.concat([header, Buffer.from(type + body, "latin1")]);
  };
  await writeFile(file, Buffer.concat([box("free", playlist), box("zzzz", ""), await readFile(file)]));
}

test("plays a file that is also a playlist as the film it was probed as", NO_HANG, async () => {
  const inner = await listen();
  await withFolder(async (folder) => {
    const file = join(folder, "polyglot.mov");
    await makePolyglot(file, `http://127.0.0.1:${inner.port}/x.mp4`);
    assert.equal((await examineVideo(file)).video?.container, "mov", "it passes for a film");
    const runner = new ForkedRunner();
    await runner.start({ sourceUri: file }).catch(() => {});
    await runner.until("state", ({ state }) => state === "finished" || state === "failed");
    assert.equal(inner.connections.length, 0, inner.received.join("\n"));
    assert.equal(times(runner).length, 20);
  });
});
