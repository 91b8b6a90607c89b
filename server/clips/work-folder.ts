/** Folders of children that decode and render: each has one of its own, and no other file of the data folder. */
import { createWriteStream } from "node:fs";
import { chmod, chown, copyFile, link, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Confinement } from "../confinement/confinement.ts";
import type { Pieces } from "../files/file-store.ts";

/** Rendered clips: `<clip>/0.mp4`. */
export const clipsFolder = (dataDir: string): string => resolve(dataDir, "clips");

export class WorkFolders {
  readonly #folder: string;
  readonly #confinement: Confinement;

  private constructor(folder: string, confinement: Confinement) {
    this.#folder = folder;
    this.#confinement = confinement;
  }

  /** Removes what a crash has left. */
  static async open(dataDir: string, confinement: Confinement): Promise<WorkFolders> {
    const folder = resolve(dataDir, "clip-work");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Another user may enter it, but not list it.
    if (confinement.account !== null) await chmod(folder, 0o711);
    return new WorkFolders(folder, confinement);
  }

  async make(): Promise<WorkFolder> {
    const path = await mkdtemp(join(this.#folder, "job-"));
    const { account } = this.#confinement;
    if (account !== null) await chown(path, account.uid, account.gid);
    return new WorkFolder(path, this.#confinement);
  }
}

export class WorkFolder {
  readonly path: string;
  readonly #confinement: Confinement;

  constructor(path: string, confinement: Confinement) {
    this.path = path;
    this.#confinement = confinement;
  }

  /** Resolves with its path. Rejects with the system error. */
  async write(name: string, pieces: Pieces | AsyncIterable<Uint8Array | string>): Promise<string> {
    const path = join(this.path, name);
    await pipeline(Readable.from(pieces), createWriteStream(path, { mode: 0o600 }));
    await this.#confinement.share(path);
    return path;
  }

  /** A file of the data folder, which the child can then read. */
  async lend(name: string, file: string): Promise<string> {
    const path = join(this.path, name);
    await link(file, path).catch(() => copyFile(file, path));
    await this.#confinement.share(path);
    return path;
  }

  /** Removes its files. */
  async clear(): Promise<void> {
    for (const name of await readdir(this.path)) await rm(join(this.path, name), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
