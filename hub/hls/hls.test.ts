import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import type { AccessUnit } from "../../media/access-unit.ts";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { hashClip, hashPictures } from "../../media/mp4/decode.fixture.ts";
import { PATH, TestHls, Viewer } from "./hls.fixture.ts";

const clip = makeClip({ seconds: 4, bFrames: 2, hasAudio: true });
const small = makeClip({ seconds: 2, size: "160x90" });
const h265 = makeClip({ codec: "h265", seconds: 3, bFrames: 2 });
const long = makeClip({ seconds: 15, fps: 10, gop: 150, size: "64x64" });
const later = (units: readonly AccessUnit[], byUs: number): AccessUnit[] =>
  units.map((unit) => ({ ...unit, dtsUs: unit.dtsUs + byUs, ptsUs: unit.ptsUs + byUs }));
const run = promisify(execFile);

describe("playback", () => {
  test("one that follows the standard gets every picture, soon, and playlists that keep their promises", async (t) => {
    const hls = await TestHls.open(t);
    const { over } = await hls.stream(clip);
    const viewer = new Viewer();
    await viewer.watch(hls);
    await over;
    assert.deepEqual(hashPictures(Buffer.concat(viewer.media)), hashClip(clip));
    assert.ok(viewer.playlists.length > 2, "the playlist was not followed while it grew");
    const first = viewer.playlists[0]?.segments.flatMap(({ parts }) => parts).length ?? 0;
    const behind = viewer.parts.slice(first).map(({ atMs, endMs }) => atMs - endMs);
    const [median] = behind.toSorted((a, b) => a - b).slice(Math.floor(behind.length / 2));
    t.diagnostic(`a part is there ${median?.toFixed(0)} ms after its last picture has been shown by the camera`);
  });

  test("H.265: every picture, and the codec by its profile and level", async (t) => {
    const hls = await TestHls.open(t);
    const publication = await hls.play(h265);
    const list = (await hls.read("index.m3u8")).toString();
    // Main profile, compatible with itself and Main 10, level 2; x265 states progressive frames.
    assert.match(list, /CODECS="hvc1\.1\.6\.L60\.90",RESOLUTION=320x180/);
    publication.close("over");
    const viewer = new Viewer();
    await viewer.watch(hls);
    assert.deepEqual(hashPictures(Buffer.concat(viewer.media)), hashClip(h265));
    assert.ok(viewer.media[0]?.includes("hvc1") && viewer.media[0].includes("hvcC"));
  });

  test("ffmpeg gets every picture, live", async (t) => {
    const hls = await TestHls.open(t);
    const { over } = await hls.stream(clip);
    const args = ["-v", "error", "-live_start_index", "0", "-i", hls.url("index.m3u8?token=secret")];
    const { stdout } = await run("ffmpeg", [...args, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"]);
    await over;
    const hashes = stdout.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    assert.deepEqual(
      hashes.map((line) => line.split(",").at(-1)?.trim()),
      hashClip(clip),
    );
  });

  test("GStreamer plays it to its end", async (t) => {
    const hls = await TestHls.open(t);
    const { over } = await hls.stream(clip);
    const play = [
      "souphttpsrc",
      `location=${hls.url("index.m3u8")}`,
      "!",
      "hlsdemux",
      "!",
      "qtdemux",
      "!",
      "h264parse",
    ];
    const { stdout } = await run("gst-launch-1.0", [
      ...play,
      ...["!", "avdec_h264", "!", "identity", "silent=false", "name=shown", "!", "fakesink", "-v"],
    ]);
    await over;
    const shown = stdout.split("\n").filter((line) => line.includes("shown") && line.includes("chain")).length;
    assert.ok(shown > clip.pictures / 4 && shown <= clip.pictures, `${shown} pictures`);
  });

  test("a late viewer starts with a keyframe, with its capture time", async (t) => {
    const hls = await TestHls.open(t);
    const publication = hls.publish();
    publication.setTracks(clip.tracks);
    for (const unit of clip.units.slice(0, 200)) publication.write(unit);
    await hls.read("index.m3u8");
    for (const unit of clip.units.slice(200)) publication.write(unit);
    const { segments, hint } = await hls.playlist();
    const key = clip.units.slice(0, 200).findLast(({ isKey, kind }) => isKey && kind === "video");
    assert.equal(segments[0]?.date, key?.captureMs);
    assert.equal(segments[0]?.parts[0]?.isIndependent, true);
    assert.ok(hint);
  });

  test("a token is in every address of every playlist, and no way to write into them", async (t) => {
    const hls = await TestHls.open(t);
    await hls.play(clip);
    const query = `?token=${encodeURIComponent('a"b\n#EXT-X-ENDLIST')}`;
    for (const name of ["index.m3u8", "video.m3u8"]) {
      const text = (await hls.read(`${name}${query}`)).toString();
      const uris = [...text.matchAll(/URI="([^"]*)"/g)].map(([, uri]) => uri ?? "");
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      assert.ok(lines.length > 0);
      for (const uri of [...uris, ...lines]) assert.ok(uri.endsWith("?token=a%22b%0A%23EXT-X-ENDLIST"), uri);
      assert.doesNotMatch(text, /^#EXT-X-ENDLIST/m);
    }
    const [segment] = (await hls.playlist(query)).segments;
    assert.ok((await hls.read(segment?.uri ?? "")).length > 1000);
  });

  test("the first playlist has all required tags", async (t) => {
    const hls = await TestHls.open(t);
    await hls.play(clip);
    const text = (await hls.read("index.m3u8")).toString();
    assert.match(text, /BANDWIDTH=\d{5,8},CODECS="avc1\.[0-9a-f]{6},mp4a\.40\.2",RESOLUTION=320x180\nvideo\.m3u8\n$/);
  });
});

describe("streams that are not like others", () => {
  test("a group of pictures of 15 s still gives parts at once, and segments of limited length", async (t) => {
    const hls = await TestHls.open(t);
    const publication = hls.publish();
    publication.setTracks(long.tracks);
    const viewer = new Viewer();
    for (const unit of long.units.slice(0, 30)) publication.write(unit);
    const watching = viewer.watch(hls);
    for (const unit of long.units.slice(30)) {
      publication.write(unit);
      await new Promise((resolve) => setImmediate(resolve));
    }
    publication.close("over");
    await watching;
    const segments = viewer.playlists.at(-1)?.segments ?? [];
    assert.ok(segments.length >= 2);
    assert.deepEqual(
      segments.map(({ parts }) => parts.some(({ isIndependent }) => isIndependent)),
      segments.map((_, i) => i === 0),
    );
    assert.equal(hashPictures(Buffer.concat(viewer.media)).length, long.pictures);
  });

  test("new tracks follow a discontinuity, with their own init segment", async (t) => {
    const hls = await TestHls.open(t);
    const publication = await hls.play(clip);
    publication.setTracks(small.tracks);
    for (const unit of later(small.units, 5_000_000)) publication.write(unit);
    const { segments } = await hls.playlist();
    const changes = segments.filter(({ isDiscontinuous }) => isDiscontinuous);
    assert.equal(changes.length, 1);
    assert.equal(new Set(segments.map(({ map }) => map)).size, 2);
    const second = changes[0];
    const media = await Promise.all([second?.map ?? "", second?.uri ?? ""].map((uri) => hls.read(uri)));
    assert.deepEqual(hashPictures(Buffer.concat(media)), hashClip({ units: small.units.slice(0, 30) }));
  });

  test("the end of a publication ends the playlist of viewers, is 404 for others, and it can be published again", async (t) => {
    const hls = await TestHls.open(t);
    const first = await hls.play(clip);
    const before = await hls.playlist();
    const waiting = hls.playlist(`?_HLS_msn=${before.segments.at(-1)?.number}&_HLS_part=99`);
    first.close("gone");
    assert.equal((await waiting).isEnded, true);
    assert.equal((await hls.fetch("index.m3u8")).status, 404);
    const ended = await hls.playlist();
    assert.equal(ended.isEnded, true);
    assert.equal((await hls.fetch(ended.segments.at(-1)?.uri ?? "")).status, 200);

    await hls.play(small);
    const after = await hls.playlist();
    assert.equal(after.isEnded, false);
    assert.ok(after.sequence > (ended.segments.at(-1)?.number ?? 0));
    assert.equal((await hls.fetch("index.m3u8")).status, 200);
    assert.equal((await hls.fetch(ended.segments.at(-1)?.uri ?? "")).status, 404);
  });
});

describe("limits", () => {
  test("generates segments from the first request until no request has come for a while", async (t) => {
    const hls = await TestHls.open(t, { hlsIdleMs: 1_000 });
    const publication = hls.publish();
    publication.setTracks(clip.tracks);
    for (const unit of clip.units) publication.write(unit);
    assert.equal(hls.readers, 0);
    assert.equal((await hls.fetch("zz_part0.mp4")).status, 404);
    assert.equal(hls.readers, 0);
    await hls.read("index.m3u8");
    assert.equal(hls.readers, 1);
    while (hls.readers > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test("the bytes that are kept: the oldest segments go first", async (t) => {
    const hls = await TestHls.open(t, { hlsBytes: 200_000 });
    const units = Array.from({ length: 10 }, (_, i) => later(clip.units, i * 4_100_000)).flat();
    await hls.play({ ...clip, units });
    const { segments } = await hls.playlist();
    const bytes = await Promise.all(segments.flatMap(({ uri }) => (uri === null ? [] : [hls.read(uri)])));
    const sum = bytes.reduce((total, { length }) => total + length, 0);
    assert.ok(sum > 50_000 && sum <= 200_000, `${sum} bytes`);
    assert.equal((await hls.fetch(`${segments[0]?.uri}`.replace(/seg\d+/, "seg1"))).status, 404);
  });

  test("the requests that wait", async (t) => {
    const hls = await TestHls.open(t, { readersPerStream: 1 });
    const publication = await hls.play(clip);
    const { segments } = await hls.playlist();
    const next = (segments.at(-1)?.number ?? 0) + 1;
    const asked = Array.from({ length: 5 }, () =>
      hls.fetch(`video.m3u8?_HLS_msn=${next}`).then(({ status }) => status),
    );
    const refused = await Promise.race(asked);
    publication.close("over");
    assert.equal(refused, 503);
    assert.deepEqual((await Promise.all(asked)).toSorted(), [200, 200, 200, 200, 503]);
  });
});

describe("rejections", () => {
  test("nonsense is answered with words", async (t) => {
    const hls = await TestHls.open(t);
    assert.equal((await hls.fetch("index.m3u8")).status, 404);
    await hls.play(clip);
    const { hint, segments } = await hls.playlist();
    const next = (segments.at(-1)?.number ?? 0) + 1;
    for (const [file, status] of [
      ["video.m3u8?_HLS_msn=x", 400],
      ["video.m3u8?_HLS_msn=-1", 400],
      ["video.m3u8?_HLS_part=1", 400],
      [`video.m3u8?_HLS_msn=${next}&_HLS_part=1e3`, 400],
      [`video.m3u8?_HLS_msn=${next + 4}`, 400],
      [`video.m3u8?token=${"x".repeat(2000)}`, 400],
      ["other.m3u8", 404],
      ["..", 404],
      [`${hint}`.replace(/part\d+/, "part99999"), 404],
      [`${hint}`.replace(/part\d+/, "seg0"), 404],
      [`${hint}`.replace(/part\d+/, "init7"), 404],
      [`x${hint}`, 404],
    ] as const) {
      const answer = await hls.hls.answer(PATH, ...toQuestion(file)).catch(() => ({ status: 404, body: "refused" }));
      assert.equal(answer.status, status, file);
      assert.ok(answer.body.length > 0);
    }
  });

  test("sets cache lifetimes, and never for errors", async (t) => {
    const hls = await TestHls.open(t);
    await hls.play(clip);
    const { segments, hint } = await hls.playlist();
    const kept = async (file: string) => (await hls.fetch(file)).headers.get("cache-control");
    assert.equal(await kept("video.m3u8"), "private, max-age=2");
    assert.equal(await kept(`video.m3u8?_HLS_msn=${segments[0]?.number}`), "private, max-age=24");
    assert.equal(await kept(segments[0]?.uri ?? ""), "private, max-age=24");
    assert.equal(await kept(segments[0]?.map ?? ""), "private, max-age=24");
    assert.equal(await kept("index.m3u8"), "no-cache");
    assert.equal(await kept(`${hint}`.replace(/part\d+/, "part99999")), "no-store");
  });

  test("answers a request for the hinted part as soon as it exists", async (t) => {
    const hls = await TestHls.open(t);
    const publication = await hls.play({ ...clip, units: clip.units.slice(0, 250) });
    const { hint } = await hls.playlist();
    const part = hls.read(hint ?? "");
    for (const unit of clip.units.slice(250)) publication.write(unit);
    assert.equal((await part).toString("latin1", 4, 8), "moof");
  });
});

function toQuestion(file: string): [string, URLSearchParams, AbortSignal] {
  const [name = "", query = ""] = file.split("?");
  return [name, new URLSearchParams(query), AbortSignal.timeout(5000)];
}
