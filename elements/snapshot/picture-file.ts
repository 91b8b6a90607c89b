import { rename, rm, writeFile } from "node:fs/promises";
import { dirname, extname } from "node:path";

type PictureType = "image/png" | "image/jpeg";

const TYPES: Readonly<Record<string, PictureType>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
};

/** Image type by file extension, or undefined. The schema of `path` allows no other extension. */
export const readPictureType = (path: string): PictureType | undefined => TYPES[extname(path).toLowerCase()];

/** `shots/{index}-{pts}.png` → `shots/0003-12.500.png`; the time is in seconds. */
export function formatPath(pattern: string, index: number, ptsNs: bigint): string {
  const seconds = (Number(ptsNs / 1_000_000n) / 1000).toFixed(3);
  return pattern.replaceAll("{index}", String(index).padStart(4, "0")).replaceAll("{pts}", seconds);
}

/** Atomic: readers of `path` see the old image or the new one, never a partial one. */
export async function writePicture(path: string, bytes: Uint8Array): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, bytes);
    await rename(part, path);
  } catch (cause) {
    await rm(part, { force: true }).catch(() => {});
    throw new Error(explain(path, cause as NodeJS.ErrnoException), { cause });
  }
}

function explain(path: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT" || code === "ENOTDIR") return `there is no folder ${dirname(path)}; make it first`;
  if (code === "EISDIR") return `${path} is a folder`;
  if (code === "EACCES") return `cannot write ${path}: permission denied`;
  return message;
}
