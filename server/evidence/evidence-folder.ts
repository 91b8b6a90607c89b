/** Clips of notices on the disk of this machine: `<data_dir>/evidence/<notice>/clip.mp4`. */
import { mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makePrivateFolder } from "../data-folder.ts";
import type { Pieces } from "../files/file-store.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The message is the reason that the user gets. */
export class NoSpace extends Error {
  override readonly name = "NoSpace";
}

export class EvidenceFolder {
  readonly #path: string;
  readonly #reserveBytes: number;

  constructor(dataDir: string, reserveBytes: number) {
    this.#path = resolve(dataDir, "evidence");
    this.#reserveBytes = reserveBytes;
  }

  /** Resolves with the notices that have files here. */
  async open(): Promise<readonly string[]> {
    await makePrivateFolder(this.#path);
    return (await readdir(this.#path)).filter((name) => UUID.test(name));
  }

  clipPath(notice: string): string {
    return join(this.#path, notice, "clip.mp4");
  }

  has(notice: string): Promise<boolean> {
    return stat(this.clipPath(notice)).then(
      (found) => found.isFile(),
      () => false,
    );
  }

  /** For a clip of this size. Rejects with `NoSpace`. Resolves with its path, in a folder that exists. */
  async reserve(notice: string, bytes: number): Promise<string> {
    const { bavail, bsize } = await statfs(this.#path);
    if (bavail * bsize - bytes < this.#reserveBytes) throw new NoSpace("the disk is nearly full");
    await mkdir(join(this.#path, notice), { recursive: true });
    return this.clipPath(notice);
  }

  /** Readers see all of it or nothing. Rejects with `NoSpace`. Resolves with its path. */
  async write(notice: string, pieces: Pieces, bytes: number): Promise<string> {
    const path = await this.reserve(notice, bytes);
    const part = `${path}.part`;
    try {
      const file = await open(part, "w");
      try {
        for await (const piece of pieces) await file.write(piece);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ENOSPC" || code === "EDQUOT") throw new NoSpace("the disk is full", { cause: error });
      throw error;
    }
    return path;
  }

  async remove(notice: string): Promise<void> {
    await rm(join(this.#path, notice), { recursive: true, force: true });
  }
}
