/** Prepares a clip for the demo: fetches it on first use, converts it once, keeps the result in the cache. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { removeStaleParts, withStorageFaults } from "../models/files.ts";
import { limitTime } from "../models/time-limit.ts";
import { CLIPS, clipFile, fetchClip } from "./clips.ts";

/** Version of the conversion. A change converts all clips again. */
const VERSION = 2;
const STREET = "vtest.avi";
const CONVERTED = /^(own-[0-9a-f]+|vtest-\d+)\.(h264|mp4)$/;
const OLD_MS = 24 * 3600_000;

interface PrepareOptions {
  /** A video file; null for the default street scene. */
  readonly file: string | null;
  readonly signal: AbortSignal;
  onStage(stage: "fetching" | "converting"): void;
}

/** Resolves with an mp4 file. Throws an Error whose message states the reason and a remedy. */
export async function prepareClip({ file, signal, onStage }: PrepareOptions): Promise<string> {
  const converted = clipFile(file === null ? `vtest-${VERSION}.mp4` : await nameConverted(file));
  if (existsSync(converted)) return converted;
  const source = file === null ? clipFile(STREET) : resolve(file);
  if (file === null && !existsSync(source)) {
    onStage("fetching");
    await fetchStreet(source, signal);
  }
  onStage("converting");
  await removeStaleParts(dirname(converted));
  await removeOld(dirname(converted));
  try {
    await convertClip(source, converted, signal);
  } catch (cause) {
    throw new Error(`the clip ${basename(source)} cannot be converted: ${(cause as Error).message}`, { cause });
  }
  return converted;
}

async function fetchStreet(file: string, signal: AbortSignal): Promise<void> {
  const { deb, member } = CLIPS[STREET];
  try {
    await fetchClip(file, CLIPS[STREET], { signal });
  } catch (cause) {
    const remedy = `Set demo.clip to a video of your own, or copy ${basename(member)} from the Debian package ${deb} to ${file}.`;
    throw new Error(`the clip of the demo cannot be fetched: ${(cause as Error).message}\n${remedy}`, { cause });
  }
}

/** Removes old conversions, which can be repeated. */
async function removeOld(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => CONVERTED.test(name));
  for (const file of names.map((name) => join(folder, name))) {
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
  return `own-${digest}.mp4`;
}

const FPS = 10;
const LIMIT_MS = 10 * 60_000;
const SHOWN_CHARACTERS = 600;
const OUTPUT = "clip.mp4";

/** The input is passed as an open file: its name never becomes part of the pipeline text. */
const PIPELINE = [
  ...["filesrc", "location=/dev/fd/3", "!", "decodebin", "!", "videoconvert", "!", "videorate", "!"],
  ...[`video/x-raw,format=I420,framerate=${FPS}/1`, "!"],
  ...["x264enc", "tune=zerolatency", "speed-preset=ultrafast", "pass=qual", "quantizer=24", `key-int-max=${FPS}`, "!"],
  ...["h264parse", "!", "mp4mux", "!", "filesink", `location=${OUTPUT}`],
];

/**
 * Converts any video to H.264 that can be played in a loop: one keyframe per second, no reordering. On failure throws an
 * Error whose message is the reason, and leaves no file.
 */
export async function convertClip(from: string, to: string, signal: AbortSignal): Promise<void> {
  const folder = await withStorageFaults(dirname(to), async () => {
    await mkdir(dirname(to), { recursive: true });
    return mkdtemp(join(dirname(to), ".part-"));
  });
  const source = await open(from);
  try {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "gst-launch-1.0", "-q", ...PIPELINE], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe", source.fd],
      signal: limitTime(LIMIT_MS, signal),
      killSignal: "SIGKILL",
    });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(0, SHOWN_CHARACTERS);
    });
    const [code, killedBy] = (await once(child, "close")) as [number | null, string | null];
    const end = code === null ? `was killed by ${killedBy}` : `exited with ${code}`;
    if (code !== 0) throw new Error(`gst-launch-1.0 ${end}${stderr === "" ? "" : `: ${stderr.trim()}`}`);
    await rename(join(folder, OUTPUT), to);
  } finally {
    await source.close();
    await rm(folder, { recursive: true, force: true });
  }
}
