/** A short film in H.264, encoded once: what the publishers of the bench send over and over. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { CommandFailure } from "../../../cli/command.ts";
import { NAL, nalType, splitStartCodes } from "../../../media/h264/nal.ts";
import { readSps } from "../../../media/h264/sps.ts";
import type { Tracks } from "../../../media/unit.ts";

export interface Film {
  readonly tracks: Tracks;
  /** NAL units of each picture, without delimiters; the first is a key picture. */
  readonly pictures: readonly (readonly Uint8Array[])[];
}

const SECONDS = 4;
export const FRAMES_PER_SECOND = 30;

/** 1280 × 720, 30 pictures and about 3 megabits a second, a key picture every second, none out of order. */
export async function makeFilm(): Promise<Film> {
  const nals = splitStartCodes(await encode());
  const pictures: Uint8Array[][] = [];
  for (const nal of nals) {
    if (nalType(nal) === NAL.delimiter) pictures.push([]);
    else pictures.at(-1)?.push(nal);
  }
  const find = (type: number) => nals.find((nal) => nalType(nal) === type);
  const [sps, pps] = [find(NAL.sps), find(NAL.pps)];
  if (sps === undefined || pps === undefined) throw new CommandFailure("ffmpeg encoded a film without its sizes");
  const { width, height } = readSps(sps);
  return { tracks: { video: { codec: "h264", sps, pps, width, height, reorders: false }, audio: null }, pictures };
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
  let said = "";
  encoder.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-500);
  });
  const [code] = await once(encoder, "close");
  if (code !== 0) throw new CommandFailure(`ffmpeg could not encode the film: ${said}`);
  return Buffer.concat(chunks);
}
