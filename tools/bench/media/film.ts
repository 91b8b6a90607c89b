/** A short H.264 film, and a publisher that sends it in a loop with a frame number in every frame. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { CommandFailure } from "../../../cli/command.ts";
import type { Tracks } from "../../../media/access-unit.ts";
import { CODECS, describeTrack, findSets } from "../../../media/codecs.ts";
import { NAL, nalType, splitStartCodes } from "../../../media/h264/nal.ts";
import { publishRtmp } from "../../../media/rtmp/publisher.ts";
import { publishRtsp } from "../../../media/rtsp/publisher.ts";

export interface Film {
  readonly tracks: Tracks;
  /** NAL units of each frame, without delimiters; the first is a keyframe. */
  readonly pictures: readonly (readonly Uint8Array[])[];
}

const SECONDS = 4;
export const FRAMES_PER_SECOND = 30;

/** 1280 × 720, 30 fps, about 3 Mbit/s, a keyframe per second, no B-frames. */
export async function makeFilm(): Promise<Film> {
  const nals = splitStartCodes(await encode());
  const pictures: Uint8Array[][] = [];
  for (const nal of nals) {
    if (nalType(nal) === NAL.delimiter) pictures.push([]);
    else pictures.at(-1)?.push(nal);
  }
  const sets = findSets(CODECS.h264, nals);
  if (sets === null) throw new CommandFailure("ffmpeg encoded a film without parameter sets");
  return { tracks: { video: describeTrack(CODECS.h264, sets, false), audio: null }, pictures };
}

async function encode(): Promise<Buffer> {
  const picture = `testsrc2=size=1280x720:rate=${FRAMES_PER_SECOND}`;
  const encoder = spawn(
    "ffmpeg",
    [
      ...["-v", "error", "-f", "lavfi", "-i", picture, "-t", String(SECONDS), "-pix_fmt", "yuv420p"],
      ...["-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-b:v", "3M", "-maxrate", "3M"],
      ...["-bufsize", "600k", "-g", String(FRAMES_PER_SECOND), "-x264-params", "aud=1:scenecut=0", "-f", "h264", "-"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const chunks: Buffer[] = [];
  encoder.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  let output = "";
  encoder.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-500);
  });
  const [code] = await once(encoder, "close");
  if (code !== 0) throw new CommandFailure(`ffmpeg could not encode the film: ${output}`);
  return Buffer.concat(chunks);
}

export interface Pump {
  /** By frame number. */
  readonly sentAtMs: readonly number[];
  stop(): Promise<void>;
}

/** Publishes the film in real time and records when each frame was sent. */
export async function startPump(url: string, { tracks, pictures }: Film): Promise<Pump> {
  const publisher = await (url.startsWith("rtsp:") ? publishRtsp : publishRtmp)(url, tracks);
  const sentAtMs: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  const beganMs = performance.now();
  const next = (): void => {
    const number = sentAtMs.length;
    const nals = pictures[number % pictures.length] ?? [];
    const firstSlice = nals.findIndex((nal) => [NAL.slice, NAL.idr].includes(nalType(nal) as 1));
    const parts = [...nals.slice(0, firstSlice), makeStamp(number), ...nals.slice(firstSlice)];
    const isKey = nals.some((nal) => nalType(nal) === NAL.idr);
    const ptsUs = Math.round((number * 1e6) / FRAMES_PER_SECOND);
    sentAtMs.push(performance.now());
    publisher.send({ kind: "video", dtsUs: ptsUs, ptsUs, captureMs: Date.now(), isKey, parts });
    timer = setTimeout(next, Math.max(0, beganMs + (sentAtMs.length * 1000) / FRAMES_PER_SECOND - performance.now()));
  };
  next();
  return {
    sentAtMs,
    async stop() {
      clearTimeout(timer);
      await publisher.close();
    },
  };
}

const UUID = Buffer.from("9f2d6c1ab0e84f63a1d05b7c2e94d813", "hex");
const USER_DATA = 5;
/** As text, which contains no start code. */
const DIGITS = 12;

/** A frame number as user data SEI (ITU-T H.264, D.1.7). */
export function makeStamp(number: number): Uint8Array {
  const text = Buffer.from(String(number).padStart(DIGITS, "0"));
  return Buffer.concat([Buffer.from([NAL.sei, USER_DATA, UUID.length + DIGITS]), UUID, text, Buffer.from([0x80])]);
}

/** The frame number; null without one. */
export function readStamp(nals: readonly Uint8Array[]): number | null {
  for (const nal of nals) {
    if (nalType(nal) !== NAL.sei || nal[1] !== USER_DATA) continue;
    const bytes = Buffer.from(nal.buffer, nal.byteOffset, nal.byteLength);
    if (UUID.equals(bytes.subarray(3, 3 + UUID.length)))
      return Number(bytes.toString("latin1", 3 + UUID.length, 3 + UUID.length + DIGITS));
  }
  return null;
}
