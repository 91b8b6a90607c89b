/** Files with checksums: atomic writes, digests, and explanations for faults of the disk. */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { StorageFault } from "./fault.ts";

const PART = /^\.part-/;
/** No write takes this long: its process is dead. */
const STALE_MS = 24 * 3600_000;

/** Called before the file gets its name; throws to reject it. */
type Check = (sha256: string, bytes: number) => void;

/**
 * Writes a temporary file beside `file`, syncs, and renames it: other processes see the old file or the complete new one,
 * and concurrent writers of the same content do not disturb each other. Removes the temporary file on failure. Returns
 * the SHA-256 digest.
 */
export async function writeAtomically(
  file: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  check: Check = () => {},
): Promise<string> {
  const folder = dirname(file);
  const part = join(folder, `.part-${process.pid}-${randomBytes(6).toString("hex")}`);
  const handle = await withStorageFaults(folder, async () => {
    await mkdir(folder, { recursive: true });
    return open(part, "wx", 0o644);
  });
  try {
    const sha256 = await fill(handle, content, folder, check).finally(() => handle.close());
    await withStorageFaults(folder, () => rename(part, file));
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
  check: Check,
): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    bytes += chunk.length;
    await withStorageFaults(folder, () => handle.writeFile(chunk));
  }
  const sha256 = hash.digest("hex");
  check(sha256, bytes);
  await withStorageFaults(folder, () => handle.sync());
  return sha256;
}

/** Removes temporary files of processes that were killed while writing. */
export async function removeStaleParts(folder: string, nowMs: number = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => PART.test(name))) {
    const part = join(folder, name);
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs > STALE_MS) await rm(part, { force: true, recursive: true });
  }
}

/** Runs an operation on the disk of `folder` and turns its errors into a `StorageFault` with a remedy. */
export async function withStorageFaults<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw describeStorage(folder, error) ?? error;
  }
}

const ELSEWHERE = "set WINDHOVER_CACHE_DIR to another folder";

function describeStorage(folder: string, error: unknown): StorageFault | null {
  const { code } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOSPC: `the disk of ${folder} is full: free some space, or ${ELSEWHERE}`,
    EDQUOT: `the disk quota for ${folder} is exhausted: free some space, or ${ELSEWHERE}`,
    EACCES: `no permission to write in ${folder}: grant it to this user, or ${ELSEWHERE}`,
    EPERM: `no permission to write in ${folder}: grant it to this user, or ${ELSEWHERE}`,
    EROFS: `${folder} is on a read-only disk: ${ELSEWHERE}`,
    ENOTDIR: `${folder} cannot be created, a part of that path is a file: move the file, or ${ELSEWHERE}`,
    EEXIST: `${folder} cannot be created, a file of that name exists: move the file, or ${ELSEWHERE}`,
  };
  const reason = reasons[code ?? ""];
  return reason === undefined ? null : new StorageFault(reason, { cause: error });
}

/** Streams the file, so its size does not matter. */
export async function digestFile(
  file: string,
  algorithm: "sha256" | "sha512" = "sha256",
  encoding: "hex" | "base64" = "hex",
): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest(encoding);
}

export const digestBytes = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** Files that had this digest, with their state then: a process opens the same model again and again. */
const verified = new Map<string, string>();

/** False also for a missing file; another process may remove it at any time. */
export async function hasDigest(file: string, sha256: string): Promise<boolean> {
  const state = await describeState(file);
  const key = `${sha256} ${file}`;
  if (state !== null && verified.get(key) === state) return true;
  if ((await digestFile(file).catch(() => null)) !== sha256) return false;
  if (state !== null) verified.set(key, state);
  return true;
}

/** Changes whenever the file is written. */
async function describeState(file: string): Promise<string | null> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  return found && `${found.dev} ${found.ino} ${found.size} ${found.ctimeNs}`;
}
