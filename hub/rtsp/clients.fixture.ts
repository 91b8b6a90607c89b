/** ffmpeg and GStreamer as publishers and players, and what they see, picture by picture. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after } from "node:test";
import type { VideoCodec } from "../../media/access-unit.ts";
import { NAL, nalType, splitStartCodes } from "../../media/h264/nal.ts";
import { keepFile } from "../../test/kept-files.fixture.ts";

export type Way = "tcp" | "udp";

export const folder = mkdtempSync(join(tmpdir(), "windhover-rtsp-"));
// Not after the tests of a file: others of its process use it.
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

export interface Program {
  readonly child: ChildProcess;
  /** Everything it printed, once it has ended. */
  readonly output: Promise<string>;
}

/** It is ended with the tests at the latest. */
export function run(program: string, args: readonly string[]): Program {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  after(() => child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  const output = once(child, "close").then(() => text);
  return { child, output };
}

const ffmpeg = (...args: readonly string[]): Program => run("ffmpeg", ["-v", "error", "-nostdin", "-y", ...args]);
const gst = (...words: readonly string[]): Program => run("gst-launch-1.0", ["-q", ...words]);

export interface ClipOptions {
  readonly seconds?: number;
  readonly size?: string;
  readonly bFrames?: number;
  readonly hasSound?: boolean;
  readonly keyEvery?: number;
  readonly codec?: VideoCodec;
}

/**
 * 25 pictures a second, no two the same. So few bytes a second that the buffer of a UDP socket holds what comes while a busy
 * machine lets its player wait.
 */
export async function makeClip(options: ClipOptions = {}): Promise<string> {
  const { seconds = 40, size = "160x120", bFrames = 0, hasSound = false, keyEvery = 12, codec = "h264" } = options;
  const sound = hasSound ? ["-f", "lavfi", "-i", "sine=frequency=500"] : [];
  const encoder =
    codec === "h264"
      ? `-c:v libx264 -preset veryfast -crf 38 -bf ${bFrames} -g ${keyEvery}`
      : `-c:v libx265 -preset ultrafast -crf 40 -tag:v hvc1 -x265-params keyint=${keyEvery}:min-keyint=${keyEvery}:scenecut=0:bframes=${bFrames}:b-adapt=0:pools=1:frame-threads=1:log-level=error`;
  const video = `-pix_fmt yuv420p ${encoder} -c:a aac -t ${seconds}`;
  const source = `testsrc2=size=${size}:rate=25`;
  const args = ["-f", "lavfi", "-i", source, ...sound, ...video.split(" ")];
  return keepFile([...args, "mp4"], async (path) => assert.equal(await ffmpeg(...args, path).output, ""));
}

export const publishers = {
  ffmpeg: (clip: string, url: string, way: Way) =>
    ffmpeg(..."-re -i".split(" "), clip, ..."-c copy -f rtsp -rtsp_transport".split(" "), way, url),
  gst: (clip: string, url: string, way: Way, codec: VideoCodec = "h264") =>
    gst(
      ...["filesrc", `location=${clip}`, "!", "qtdemux", "!", `${codec}parse`, "config-interval=-1", "!"],
      ...["rtspclientsink", `location=${url}`, `protocols=${way}`],
    ),
};

/** A clip's pictures as NAL units, each with its slice last. */
export async function readPictures(clip: string): Promise<Uint8Array[][]> {
  const file = join(folder, `raw-${outputs++}.h264`);
  assert.equal(await ffmpeg("-i", clip, ..."-c copy -bsf:v h264_mp4toannexb -f h264".split(" "), file).output, "");
  const pictures: Uint8Array[][] = [[]];
  for (const nal of splitStartCodes(await readFile(file))) {
    pictures.at(-1)?.push(nal);
    if (nalType(nal) === NAL.slice || nalType(nal) === NAL.idr) pictures.push([]);
  }
  return pictures.slice(0, -1);
}

/** `320x240` for each picture. */
export async function listSizes(file: string): Promise<string[]> {
  const words = "-v error -select_streams v -show_entries frame=width,height -of csv=p=0:s=x".split(" ");
  return [...(await run("ffprobe", [...words, file]).output).matchAll(/^\d+x\d+/gm)].map(([size]) => size);
}

let outputs = 0;

export interface Playing extends Program {
  readonly file: string;
  /** A digest of every picture, decoded, in the order of showing. */
  pictures(): Promise<string[]>;
}

export type PlayerName = `${"ffmpeg" | "gst"} ${Way}`;

/** By the name of a player. */
export function play(who: PlayerName, url: string, codec: VideoCodec = "h264") {
  const [name, playWay] = who.split(" ") as ["ffmpeg" | "gst", Way];
  return { playWay, ...(name === "gst" ? players.gst(url, playWay, codec) : players.ffmpeg(url, playWay)) };
}

/** Each plays until the stream ends. */
export const players = {
  /** With sound: counts audio frames, too. */
  ffmpeg(url: string, way: Way, { hasSound = false } = {}): Playing & { countSounds(): Promise<number> } {
    const file = join(folder, `played-${outputs++}.md5`);
    const program = ffmpeg("-rtsp_transport", way, "-i", url, ...(hasSound ? WITH_SOUND : DIGESTING), file);
    const countSounds = async () => (await readRows(file, 1)).length;
    return { ...program, file, pictures: () => readDigests(file), countSounds };
  },
  gst(url: string, way: Way, codec: VideoCodec = "h264"): Playing {
    const file = join(folder, `played-${outputs++}.${codec}`);
    const program = gst(
      ...["rtspsrc", `location=${url}`, `protocols=${way}`, "latency=100", "!", `rtp${codec}depay`, "!"],
      ...[`${codec}parse`, "!", `video/x-${codec},stream-format=byte-stream,alignment=au`, "!"],
      ...["filesink", `location=${file}`],
    );
    const pictures = async () => {
      await digestInto(file, `${file}.md5`);
      return readDigests(`${file}.md5`);
    };
    return { ...program, file, pictures };
  },
};

const DIGESTING = "-map 0:v -fps_mode passthrough -f framemd5".split(" ");
/** As the second stream of the output. */
const WITH_SOUND = "-map 0:v -map 0:a -c:a copy -fps_mode passthrough -f framemd5".split(" ");

/** Of a clip that fixed arguments have made. */
export async function digestPictures(clip: string): Promise<string[]> {
  const file = await keepFile(["digests", basename(clip), "md5"], (path) => digestInto(clip, path));
  return readDigests(file);
}

async function digestInto(clip: string, file: string): Promise<void> {
  assert.equal(await ffmpeg("-i", clip, ...DIGESTING, file).output, "");
}

async function readRows(file: string, stream: number): Promise<string[]> {
  return (await readFile(file, "utf8")).split("\n").filter((line) => line.startsWith(`${stream},`));
}

async function readDigests(file: string): Promise<string[]> {
  return (await readRows(file, 0)).map((row) => row.split(",").at(-1)?.trim() ?? "");
}

/** The played pictures are part of the source, from a keyframe, identical and without a gap. Returns where they end. */
export function assertPlayed(played: readonly string[], source: readonly string[], keyEvery: number): number {
  const places = played.map((digest) => source.indexOf(digest));
  const [first = -1] = places;
  assert.equal(first % keyEvery, 0, `it started with picture ${first}, which is not a keyframe`);
  assert.deepEqual(
    places,
    places.map((_, i) => first + i),
  );
  return first + played.length - 1;
}
