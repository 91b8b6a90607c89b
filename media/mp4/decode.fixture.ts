/** Decodes files with other players. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepFileSync } from "../../test/kept-files.fixture.ts";
import type { AccessUnit, VideoCodec } from "../access-unit.ts";

/** Gone when the work is done, whether that is a promise or not. */
export function withFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "windhover-mp4-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let result: T;
  try {
    result = work(folder);
  } catch (error) {
    remove();
    throw error;
  }
  if (result instanceof Promise) return result.finally(remove) as T;
  remove();
  return result;
}

/** A hash of every picture, in the order in which they are shown. Throws where ffmpeg has anything to complain of. */
export function hashPictures(input: string | Uint8Array, ...before: readonly string[]): string[] {
  if (typeof input === "string") return hashFiles([[...before, input]])[0] ?? [];
  return withFolder((folder) => {
    const file = join(folder, "input");
    writeFileSync(file, input);
    return hashPictures(file, ...before);
  });
}

/** The same of several files, in one process; options may precede a file. */
export function hashFiles(files: readonly (string | readonly string[])[]): string[][] {
  return withFolder((folder) => {
    const inputs = files.flatMap((file) => {
      const words = typeof file === "string" ? [file] : file;
      return ["-threads", "1", ...words.slice(0, -1), "-i", ...words.slice(-1)];
    });
    const outputs = files.map((_, i) => join(folder, `${i}.md5`));
    const maps = outputs.flatMap((output, i) => [
      ...["-map", `${i}:v`, "-fps_mode", "passthrough", "-f", "framemd5", output],
    ]);
    const run = spawnSync("ffmpeg", ["-v", "warning", "-nostdin", ...inputs, ...maps], { encoding: "utf8" });
    const complaints = run.stderr.split("\n").filter((line) => line !== "" && !HARMLESS.test(line));
    if (run.status !== 0 || complaints.length > 0) throw new Error(`ffmpeg complains: ${run.stderr}`);
    return outputs.map((output) => {
      const lines = readFileSync(output, "utf8").split("\n");
      return lines.flatMap((line) =>
        line === "" || line.startsWith("#") ? [] : [line.split(",").at(-1)?.trim() ?? ""],
      );
    });
  });
}

/** Of a clip as it was encoded; decoded once for all runs of the tests. */
export function hashClip({ units }: { readonly units: readonly AccessUnit[] }): string[] {
  const stream = toByteStream(units);
  const digest = createHash("sha256").update(stream).digest("hex");
  const kept = keepFileSync(["pictures", digest, "json"], (path) =>
    writeFileSync(path, JSON.stringify(hashPictures(stream))),
  );
  return JSON.parse(readFileSync(kept, "utf8"));
}

/** It says so of every segment of HLS, of whomever. */
const HARMLESS = /Found duplicated MOOV Atom|Last message repeated/;

/** The expected pictures, as a byte stream. */
export function toByteStream(units: readonly AccessUnit[]): Buffer {
  const code = Uint8Array.of(0, 0, 0, 1);
  const pictures = units.filter(({ kind }) => kind === "video");
  return Buffer.concat(pictures.flatMap(({ parts }) => parts.flatMap((nal) => [code, nal])));
}

export interface ProbedPacket {
  readonly codec_type: "video" | "audio";
  readonly pts_time: string;
  readonly dts_time: string;
  readonly duration_time: string;
  readonly flags: string;
}

export function probePackets(file: string): ProbedPacket[] {
  const args = ["-v", "error", "-show_packets", "-of", "json", file];
  return JSON.parse(execFileSync("ffprobe", args, { encoding: "utf8", maxBuffer: 2 ** 26 })).packets;
}

/** Pictures that GStreamer shows of it, by the bytes they have when they are decoded. */
export function countWithGstreamer(file: string, width: number, height: number, codec: VideoCodec = "h264"): number {
  return withFolder((folder) => {
    const raw = join(folder, "raw");
    const decode = ["qtdemux", "!", `${codec}parse`, "!", `avdec_${codec}`, "!", "video/x-raw,format=I420"];
    const args = ["-q", "filesrc", `location=${file}`, "!", ...decode, "!", "filesink", `location=${raw}`];
    execFileSync("gst-launch-1.0", args, { stdio: "pipe" });
    return statSync(raw).size / (width * height * 1.5);
  });
}
