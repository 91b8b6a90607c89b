/** A clip as it can be published: fetched when it is first asked for, converted once, kept in the cache. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { removeStaleParts } from "../models/files.ts";
import { CLIPS, clipFile, clipsFolder } from "./clips.ts";
import { convertClip } from "./convert-clip.ts";
import { fetchClip } from "./fetch-clip.ts";

/** Of how clips are converted: others are converted anew. */
const VERSION = 1;
const STREET = "vtest.avi";
const OWN = /^own-[0-9a-f]+\.h264$/;
const OLD_MS = 24 * 3600_000;

export interface PrepareOptions {
  /** A video file; null for the street. */
  readonly file: string | null;
  onStage(stage: "fetching" | "converting"): void;
}

/** Throws an Error whose message says why there is no clip, and what to do. */
export async function prepareClip({ file, onStage }: PrepareOptions): Promise<Uint8Array> {
  const converted = file === null ? clipFile(`vtest-${VERSION}.h264`) : await nameConverted(file);
  if (existsSync(converted)) return readFile(converted);
  const source = file === null ? await fetchStreet(onStage) : resolve(file);
  onStage("converting");
  await removeStaleParts(clipsFolder());
  await forgetOld();
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
    const way = `Give a video of your own (demo.clip), or put ${basename(member)} of Debian's package ${deb} at ${file}.`;
    throw new Error(`the clip of the demo cannot be fetched: ${(cause as Error).message}\n${way}`, { cause });
  }
  return file;
}

/** Conversions of clips that are not the demo's any more, or will be made again. */
async function forgetOld(): Promise<void> {
  const names = (await readdir(clipsFolder()).catch(() => [])).filter((name) => OWN.test(name));
  for (const file of names.map((name) => join(clipsFolder(), name))) {
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > OLD_MS) await rm(file, { force: true });
  }
}

/** One that is changed is another. */
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
