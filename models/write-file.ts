/** Files that are there whole or not at all. */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ModelFault } from "./fault.ts";

const PART = /^\.part-/;
/** Nothing takes this long to write: whoever began it is gone. */
const FORGOTTEN_MS = 24 * 3600_000;

/** The folder cannot be written. No other source of the same bytes would help. */
export class StorageFault extends ModelFault {
  override readonly name = "StorageFault";
}

/** Called before the file gets its name; throws to refuse it. */
export type Judge = (sha256: string, bytes: number) => void;

/**
 * Writes beside `file`, syncs, and renames: another process sees the old file, or the new one, and two that write the
 * same are harmless. Nothing is left when it fails. Returns the digest.
 */
export async function writeWhole(
  file: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  judge: Judge = () => {},
): Promise<string> {
  const folder = dirname(file);
  const part = join(folder, `.part-${process.pid}-${randomBytes(6).toString("hex")}`);
  const handle = await storing(folder, async () => {
    await mkdir(folder, { recursive: true });
    return open(part, "wx", 0o644);
  });
  try {
    const sha256 = await fill(handle, content, folder, judge).finally(() => handle.close());
    await storing(folder, () => rename(part, file));
    return sha256;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function fill(
  handle: FileHandle,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  folder: string,
  judge: Judge,
): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    bytes += chunk.length;
    await storing(folder, () => handle.writeFile(chunk));
  }
  const sha256 = hash.digest("hex");
  judge(sha256, bytes);
  await storing(folder, () => handle.sync());
  return sha256;
}

/** Removes what was left by processes that were killed while they wrote. */
export async function sweepParts(folder: string, nowMs: number = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => PART.test(name))) {
    const part = join(folder, name);
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs > FORGOTTEN_MS) await rm(part, { force: true, recursive: true });
  }
}

/** Runs what touches the disk of `folder`; what goes wrong there is told as such. */
export async function storing<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw describeStorage(folder, error) ?? error;
  }
}

const ELSEWHERE = "set WINDHOVER_CACHE_DIR to a folder elsewhere";

function describeStorage(folder: string, error: unknown): StorageFault | null {
  const { code } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOSPC: `the disk of ${folder} is full: make room, or ${ELSEWHERE}`,
    EDQUOT: `the disk quota for ${folder} is used up: make room, or ${ELSEWHERE}`,
    EACCES: `no permission to write in ${folder}: open it to this user, or ${ELSEWHERE}`,
    EPERM: `no permission to write in ${folder}: open it to this user, or ${ELSEWHERE}`,
    EROFS: `${folder} is on a disk that is read-only: ${ELSEWHERE}`,
    ENOTDIR: `${folder} cannot be made, a part of that path is a file: move it away, or ${ELSEWHERE}`,
    EEXIST: `${folder} cannot be made, there is a file of that name: move it away, or ${ELSEWHERE}`,
  };
  const reason = reasons[code ?? ""];
  return reason === undefined ? null : new StorageFault(reason, { cause: error });
}
