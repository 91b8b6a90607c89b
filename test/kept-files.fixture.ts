/**
 * Videos that tests generate from fixed arguments, and digests of their pictures. They are kept in build/: to encode or decode
 * one takes longer than most tests.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../build/test-videos/", import.meta.url));
/** Without use. */
const MAX_AGE_MS = 14 * 86_400_000;

/**
 * Returns the file that these words made before, or calls `make` with the path to write to. Of several processes that make
 * the same one the last wins; an incomplete one is never visible. Callers must not change the file.
 *
 * @param words everything that the content depends on; the last one is the extension of the file
 */
export async function keepFile(words: readonly string[], make: (path: string) => Promise<void>): Promise<string> {
  const { path, fresh } = placeOf(words);
  if (isKept(path)) return path;
  try {
    await make(fresh);
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return path;
}

/** The same without a promise. */
export function keepFileSync(words: readonly string[], make: (path: string) => void): string {
  const { path, fresh } = placeOf(words);
  if (isKept(path)) return path;
  try {
    make(fresh);
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return path;
}

let made = 0;

function placeOf(words: readonly string[]) {
  const ending = words.at(-1) ?? "";
  const name = createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 24);
  // Programs choose the format by the extension.
  return { path: join(FOLDER, `${name}.${ending}`), fresh: join(FOLDER, `${process.pid}-${made++}.${ending}`) };
}

function isKept(path: string): boolean {
  if (existsSync(path)) {
    const now = new Date();
    utimesSync(path, now, now);
    return true;
  }
  mkdirSync(FOLDER, { recursive: true });
  for (const name of readdirSync(FOLDER)) {
    const other = join(FOLDER, name);
    const { mtimeMs } = statSync(other, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > MAX_AGE_MS) rmSync(other, { force: true });
  }
  return false;
}
