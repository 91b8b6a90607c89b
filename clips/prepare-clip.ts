/** Prepares a clip for publishing: fetches it on first use, converts it once, keeps the result in the cache. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { removeStaleParts, writeAtomically } from "../models/files.ts";
import { CLIPS, clipFile, clipsFolder, fetchClip } from "./clips.ts";

/** Version of the conversion. A change converts all clips again. */
const VERSION = 1;
const STREET = "vtest.avi";
const OWN = /^own-[0-9a-f]+\.h264$/;
const OLD_MS = 24 * 3600_000;

interface PrepareOptions {
  /** A video file; null for the default street scene. */
  readonly file: string | null;
  onStage(stage: "fetching" | "converting"): void;
}

/** Throws an Error whose message states the reason and a remedy. */
export async function prepareClip({ file, onStage }: PrepareOptions): Promise<Uint8Array> {
  const converted = file === null ? clipFile(`vtest-${VERSION}.h264`) : await nameConverted(file);
  if (existsSync(converted)) return readFile(converted);
  const source = file === null ? await fetchStreet(onStage) : resolve(file);
  onStage("converting");
  await removeStaleParts(clipsFolder());
  await removeOld();
  try {
    await convertClip(source, converted);
  } catch (cause) {
    throw new Error(`the clip ${basename(source)} cannot be converted: ${(cause as Error).message}`, { cause });
  }
  return readFile(converted);
}

async function fetchStreet(onStage: PrepareOptions["onStage"]): Promise<string> {
  const file = clipFile(STREET);
  if (existsSync(file)) return file;
  onStage("fetching");
  const { deb, member } = CLIPS[STREET];
  try {
    await fetchClip(file, CLIPS[STREET]);
  } catch (cause) {
    const remedy = `Set demo.clip to a video of your own, or copy ${basename(member)} from the Debian package ${deb} to ${file}.`;
    throw new Error(`the clip of the demo cannot be fetched: ${(cause as Error).message}\n${remedy}`, { cause });
  }
  return file;
}

/** Removes old conversions of the user's clips; they can be repeated. */
async function removeOld(): Promise<void> {
  const names = (await readdir(clipsFolder()).catch(() => [])).filter((name) => OWN.test(name));
  for (const file of names.map((name) => join(clipsFolder(), name))) {
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > OLD_MS) await rm(file, { force: true });
  }
}

/** The name depends on path, size and modification time, so that a changed file is converted again. */
async function nameConverted(file: string): Promise<string> {
  const path = resolve(file);
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(path);
  } catch (cause) {
    throw new Error(`the clip of the demo (demo.clip) cannot be read: ${(cause as Error).message}`, { cause });
  }
  const identity = [path, found.size, found.mtimeMs, VERSION].join("\n");
  const digest = createHash("sha256").update(identity).digest("hex").slice(0, 16);
  return join(clipsFolder(), `own-${digest}.h264`);
}

export const CLIP_FPS = 10;

const LIMIT_MS = 10 * 60_000;
const SHOWN_CHARACTERS = 600;

/** The input is passed as an open file: its name never becomes part of the pipeline text. */
const PIPELINE = [
  ...["filesrc", "location=/dev/fd/3", "!", "decodebin", "!", "videoconvert", "!", "videorate", "!"],
  ...[`video/x-raw,format=I420,framerate=${CLIP_FPS}/1`, "!"],
  ...["x264enc", "tune=zerolatency", "speed-preset=ultrafast", "pass=qual", "quantizer=24"],
  ...[`key-int-max=${CLIP_FPS}`, "byte-stream=true", "aud=true", "!"],
  ...["h264parse", "config-interval=-1", "!", "video/x-h264,stream-format=byte-stream,alignment=au", "!"],
  ...["fdsink", "fd=1"],
];

/**
 * Converts any video to an H.264 byte stream (Annex B) that can be published in a loop: one keyframe per second, no
 * reordering, an access unit delimiter before each picture. On failure throws an Error whose message is the reason, and
 * leaves no file.
 */
export async function convertClip(from: string, to: string): Promise<void> {
  const source = await open(from);
  try {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "gst-launch-1.0", "-q", ...PIPELINE], {
      stdio: ["ignore", "pipe", "pipe", source.fd],
      signal: AbortSignal.timeout(LIMIT_MS),
      killSignal: "SIGKILL",
    });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(0, SHOWN_CHARACTERS);
    });
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    ended.catch(() => {});
    try {
      await writeAtomically(
        to,
        readAll(child.stdout as unknown as Readable, ended, () => stderr),
      );
    } finally {
      child.kill("SIGKILL");
    }
  } finally {
    await source.close();
  }
}

/** Throws unless the program succeeded: an incomplete clip is not kept. */
async function* readAll(
  output: Readable,
  ended: Promise<[number | null, string | null]>,
  stderr: () => string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const piece of output) {
    bytes += (piece as Uint8Array).length;
    yield piece as Uint8Array;
  }
  const [code, signal] = await ended;
  if (code === 0 && bytes > 0) return;
  const end = code === 0 ? "wrote no video" : code === null ? `was killed by ${signal}` : `exited with ${code}`;
  throw new Error(`gst-launch-1.0 ${end}${stderr() === "" ? "" : `: ${stderr().trim()}`}`);
}
