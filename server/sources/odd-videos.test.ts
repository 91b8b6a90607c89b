/**
 * Video files that are unusual or damaged. Each is either probed correctly or refused with a reason; none of them makes the
 * probe crash, hang or report nonsense. One confined process examines them all: probe.test.ts starts one for each.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { withFolder } from "../../native/film.fixture.ts";
import { ProbeResult } from "../../schemas/probe.ts";
import { runChild } from "../../test/child.fixture.ts";
import { keepFile } from "../../test/kept-files.fixture.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { runOnce } from "../confinement/run-once.ts";
import { checkBy } from "../validation.ts";

const run = promisify(execFile);
const check = checkBy(ProbeResult);
const ENTRY = pathToFileURL(runChild(new URL("examine-videos.child.ts", import.meta.url)).file);
/** Of all files: only ends what hangs. */
const LIMIT_SECONDS = 600;

let film: Buffer;
const results = new Map<string, ProbeResult>();
let end: string;
before(async () => {
  film = await encode("film.mp4", ["-movflags", "+faststart"]);
  const videos = Object.entries({ ...PLAYED, ...REFUSED });
  await withFolder(async (folder) => {
    const files: string[] = [];
    for (const [index, [, [make]]] of videos.entries()) {
      const file = join(folder, `${index}.mp4`);
      await writeFile(file, await make());
      files.push(file);
    }
    const order = { entry: ENTRY, files, memoryBytes: 2 ** 30, seconds: LIMIT_SECONDS, name: "the probe" };
    const ended = await runOnce(await testConfinement(), order, new AbortController().signal);
    end = `${ended.end}: ${ended.errors}`;
    const lines = ended.output.split("\n").slice(0, -1);
    for (const [index, line] of lines.entries()) results.set(videos[index]?.[0] ?? "", JSON.parse(line));
  });
});

/** Two seconds of a test picture, encoded as H.264 unless `args` say otherwise. */
async function encode(
  name: string,
  args: readonly string[],
  source = "testsrc=size=64x48:rate=10:duration=2",
): Promise<Buffer> {
  const words = ["-v", "error", "-y", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", ...args];
  const file = await keepFile([...words, extname(name).slice(1)], async (path) => {
    await run("ffmpeg", [...words, path]);
  });
  return readFile(file);
}

const at = (bytes: Buffer, text: string): number => {
  const index = bytes.indexOf(text);
  assert.ok(index >= 0, text);
  return index;
};
function edit(change: (bytes: Buffer) => Buffer | undefined): () => Promise<Buffer> {
  return async () => {
    const bytes = Buffer.from(film);
    return change(bytes) ?? bytes;
  };
}
type Bytes = () => Promise<Buffer>;

const X265 = ["-preset", "ultrafast", "-x265-params", "log-level=error:pools=1:frame-threads=1"];

/** Unusual, and played all the same. */
const PLAYED: Readonly<Record<string, readonly [Bytes, size: string, durationMs: number | null]>> = {
  "an mp4 in fragments": [() => encode("f.mp4", ["-movflags", "frag_keyframe+empty_moov"]), "64x48", 2000],
  "an mp4 with its index at the end": [() => encode("f.mp4", []), "64x48", 2000],
  "a single frame": [() => encode("f.mp4", ["-frames:v", "1"]), "64x48", 100],
  "frames of odd width and height": [
    () => encode("f.mp4", ["-pix_fmt", "yuv444p"], "testsrc=size=63x47:rate=10:duration=1"),
    "63x47",
    1000,
  ],
  "frames of one macroblock": [() => encode("f.mp4", [], "testsrc=size=16x16:rate=10:duration=1"), "16x16", 1000],
  "very wide frames": [() => encode("f.mp4", [], "testsrc=size=4096x32:rate=10:duration=0.3"), "4096x32", 300],
  "samples of 10 bits": [() => encode("f.mp4", ["-pix_fmt", "yuv420p10le"]), "64x48", 2000],
  "interlaced frames": [() => encode("f.mp4", ["-flags", "+ilme+ildct", "-x264opts", "tff=1"]), "64x48", 2000],
  "1000 fps": [() => encode("f.mp4", [], "testsrc=size=64x48:rate=1000:duration=0.1"), "64x48", 100],
  "a frame every 100 s": [() => encode("f.mp4", [], "testsrc=size=64x48:rate=1/100:duration=300"), "64x48", 300_000],
  "an avi with MJPEG": [() => encode("f.avi", ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]), "64x48", 2000],
  "H.265": [() => encode("f.mp4", ["-c:v", "libx265", "-tag:v", "hvc1", ...X265]), "64x48", 2000],
  "H.265 with parameter sets in its frames": [
    () => encode("f.mov", ["-c:v", "libx265", "-tag:v", "hev1", ...X265]),
    "64x48",
    2000,
  ],
  "H.265 of 10 bits": [() => encode("f.mp4", ["-c:v", "libx265", "-pix_fmt", "yuv420p10le", ...X265]), "64x48", 2000],
  VP9: [() => encode("f.mp4", ["-c:v", "libvpx-vp9", "-deadline", "realtime"]), "64x48", 2000],
  AV1: [() => encode("f.mp4", ["-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8"]), "64x48", 2000],
  "Motion JPEG in QuickTime": [() => encode("f.mov", ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]), "64x48", 2000],
  "an avi with raw video": [() => encode("f.avi", ["-c:v", "rawvideo"]), "64x48", 2000],
  "two video streams": [() => encode("f.mp4", ["-map", "0:v", "-map", "0:v"]), "64x48", 2000],
  "frames that last no time": [edit((bytes) => void bytes.writeUInt32BE(0, at(bytes, "stts") + 16)), "64x48", 2000],
  "a frame size of 0 in the container": [
    edit((bytes) => void bytes.writeUInt32BE(0, at(bytes, "stsd") + 44)),
    "64x48",
    2000,
  ],
  "junk behind it": [edit((bytes) => Buffer.concat([bytes, Buffer.alloc(4096, 0x41)])), "64x48", 2000],
  "a Matroska file": [() => encode("f.mkv", []), "64x48", 2000],
  "a Matroska file with H.265": [() => encode("f.mkv", ["-c:v", "libx265", ...X265]), "64x48", 2000],
  "a WebM file": [() => encode("f.webm", ["-c:v", "libvpx-vp9", "-deadline", "realtime"]), "64x48", 2000],
  // Its demuxer does not know its length.
  "an MPEG transport stream": [() => encode("f.ts", []), "64x48", null],
  "another film behind it": [edit((bytes) => Buffer.concat([bytes, bytes])), "64x48", 2000],
};

const NO_CONTAINER = /mp4, mov, avi, ts, mkv or webm, judging by its first bytes/;
const NOT_WHOLE = /damaged or incomplete/;
const NOT_DECODED = /no frame can be decoded/;
const REFUSED: Readonly<Record<string, readonly [Bytes, reason: RegExp]>> = {
  "a download that stopped at the first frame": [edit((bytes) => bytes.subarray(0, at(bytes, "mdat") + 4)), NOT_WHOLE],
  "a download that stopped in its index": [edit((bytes) => bytes.subarray(0, at(bytes, "moov") + 100)), NOT_WHOLE],
  "a download that stopped in its first box": [edit((bytes) => bytes.subarray(0, bytes.readUInt32BE(0))), NOT_WHOLE],
  "frames of zeros": [edit((bytes) => void bytes.fill(0, at(bytes, "mdat") + 4)), NOT_DECODED],
  "frames of random bytes": [edit(scramble), NOT_DECODED],
  "damaged parameter sets": [
    edit((bytes) => void bytes.fill(0xff, at(bytes, "avcC") + 4, at(bytes, "avcC") + 20)),
    NOT_DECODED,
  ],
  "four billion frames in its index": [
    edit((bytes) => void bytes.writeUInt32BE(0xffffffff, at(bytes, "stsz") + 12)),
    /corrupt/,
  ],
  "a timescale of 0": [edit((bytes) => void bytes.writeUInt32BE(0, at(bytes, "mdhd") + 16)), /corrupt/],
  "frames beyond its end": [edit((bytes) => void bytes.writeUInt32BE(0x7fffffff, at(bytes, "stco") + 12)), NOT_WHOLE],
  "a box larger than the file": [
    edit((bytes) => void bytes.writeUInt32BE(0x7fffffff, at(bytes, "trak") - 4)),
    NOT_WHOLE,
  ],
  "a box smaller than its head": [edit((bytes) => void bytes.writeUInt32BE(1, at(bytes, "trak") - 4)), NOT_WHOLE],
  "boxes in boxes, 2000 deep": [edit(nest), NOT_WHOLE],
  "an unknown codec": [edit((bytes) => void bytes.write("zzzz", at(bytes, "stsd") + 16)), /./],
  "an encrypted video": [edit((bytes) => void bytes.write("encv", at(bytes, "stsd") + 16)), /./],
  "junk before it": [edit((bytes) => Buffer.concat([Buffer.alloc(4096, 0x41), bytes])), /text file/],
  "a Flash video": [() => encode("f.flv", ["-c:v", "flv1"]), NO_CONTAINER],
  "the header of a Matroska file": [async () => (await encode("f.mkv", [])).subarray(0, 300), /cannot be played/],
  "the first packets of an MPEG transport stream": [
    async () => (await encode("f.ts", [])).subarray(0, 188 * 4),
    NOT_WHOLE,
  ],
  "a transport stream of random bytes": [
    async () =>
      (await encode("f.ts", [])).map((byte, index) => (index % 188 < 4 ? byte : (index * 7919) & 255)) as Buffer,
    /./,
  ],
  "a GIF": [() => encode("f.gif", ["-pix_fmt", "rgb8"]), NO_CONTAINER],
  "a PNG": [() => encode("f.png", ["-frames:v", "1", "-pix_fmt", "rgb24"]), NO_CONTAINER],
  "a bare H.264 stream": [() => encode("f.h264", []), NO_CONTAINER],
  zeros: [async () => Buffer.alloc(100_000), NO_CONTAINER],
  "an HLS playlist": [async () => Buffer.from("#EXTM3U\n#EXTINF:2,\nhttp://127.0.0.1:9/a.ts\n"), /text file/],
  "a DASH manifest": [async () => Buffer.from('<?xml version="1.0"?><MPD type="static"></MPD>'), /XML document/],
  "an SDP description": [async () => Buffer.from("v=0\r\ns=x\r\nm=video 5000 RTP/AVP 96\r\n"), /text file/],
  "a web page": [async () => Buffer.from("<!doctype html><title>x</title>"), /web page/],
  "the head of an avi alone": [async () => Buffer.from("RIFF\xff\xff\xff\x7fAVI LIST", "latin1"), NOT_WHOLE],
};

/** Keeps the length of the first access unit, so that the decoder gets the bytes. */
function scramble(bytes: Buffer): Buffer {
  for (let i = at(bytes, "mdat") + 12; i < bytes.length; i++) bytes[i] = (i * 7919) & 255;
  return bytes;
}

function nest(bytes: Buffer): Buffer {
  let inner = Buffer.alloc(0);
  for (let depth = 0; depth < 2000; depth++) {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(inner.length + 8, 0);
    head.write("moov", 4, "latin1");
    inner = Buffer.concat([head, inner]);
  }
  return Buffer.concat([bytes.subarray(0, bytes.readUInt32BE(0)), inner]);
}

function resultOf(name: string): ProbeResult {
  const result = results.get(name) ?? assert.fail(`it was not examined; ${end}`);
  assert.deepEqual(check(result), []);
  return result;
}

for (const [name, [, size, durationMs]] of Object.entries(PLAYED))
  test(`accepts a file with ${name}`, () => {
    const { video, fault } = resultOf(name);
    assert.deepEqual([`${video?.width}x${video?.height}`, video?.duration_ms, fault], [size, durationMs, null]);
  });

for (const [name, [, reason]] of Object.entries(REFUSED))
  test(`rejects a file that is or has ${name}`, () => {
    const { video, fault } = resultOf(name);
    assert.equal(video, null);
    assert.match(fault ?? "", reason);
  });
