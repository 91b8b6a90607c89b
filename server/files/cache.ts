/**
 * Local copies of files in the bucket: the least recently used are removed when they exceed the limit, but none that is in
 * use. All of it can be lost: files are fetched again.
 */
import { createHash } from "node:crypto";
import { open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { makePrivateFolder } from "../data-folder.ts";
import { FileMissing, type FileStore } from "./file-store.ts";

interface CacheDeps {
  readonly store: Pick<FileStore, "read">;
  readonly folder: string;
  readonly maxBytes: number;
  readonly log: Logger;
  /** Rejects if the disk has too little room. */
  expectRoom(bytes: number): Promise<void>;
}

/** A file as it must be. */
export interface CachedFile {
  /** In the store. */
  readonly key: string;
  /** In the folder. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer | null;
}

export interface CachedCopy {
  readonly path: string;
  /** Ends its use. Once. */
  release(): void;
}

interface Entry {
  readonly sizeBytes: number;
  pins: number;
}

const PART = ".part";

export class FileCache {
  readonly #deps: CacheDeps;
  /** By name, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #fetching = new Map<string, Promise<void>>();

  private constructor(deps: CacheDeps) {
    this.#deps = deps;
  }

  /** Incomplete copies are removed; the others are ordered by their last use. */
  static async open(deps: CacheDeps): Promise<FileCache> {
    const { folder } = deps;
    await makePrivateFolder(folder);
    const cache = new FileCache(deps);
    const found: { name: string; usedMs: number; sizeBytes: number }[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const file = await stat(path);
      if (name.endsWith(PART)) await rm(path, { force: true });
      else if (file.isFile()) found.push({ name, usedMs: file.mtimeMs, sizeBytes: file.size });
    }
    for (const { name, sizeBytes } of found.sort((a, b) => a.usedMs - b.usedMs))
      cache.#entries.set(name, { sizeBytes, pins: 0 });
    await cache.#evict();
    return cache;
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  pathOf(name: string): string {
    return join(this.#deps.folder, name);
  }

  /** Pins a copy, which is fetched if there is none. Rejects with `FileMissing` or `storage_unavailable`. */
  async acquire(file: CachedFile): Promise<CachedCopy> {
    const path = this.pathOf(file.name);
    for (;;) {
      const entry = this.#entries.get(file.name);
      if (entry !== undefined) {
        entry.pins += 1;
        const found = await stat(path).catch(() => null);
        if (found?.size === file.sizeBytes) return this.#lend(file.name, entry);
        // The folder was changed from outside.
        entry.pins -= 1;
        if (this.#entries.get(file.name) === entry) await this.#remove(file.name);
      }
      const fetching = this.#fetching.get(file.name) ?? this.#fetch(file);
      await fetching;
    }
  }

  /** Takes over a local file that is in the store. */
  async adopt(name: string, path: string): Promise<void> {
    const { size } = await stat(path);
    await rename(path, this.pathOf(name));
    this.#entries.set(name, { sizeBytes: size, pins: 0 });
    await this.#evict();
  }

  /** A process that uses it has opened it already. */
  async drop(name: string): Promise<void> {
    if (this.#entries.has(name)) await this.#remove(name);
  }

  /** Removes copies, the least recently used first, until `expectRoom` resolves. Rejects like it when all are in use. */
  async makeRoom(expectRoom: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await expectRoom();
      } catch (error) {
        const [oldest] = [...this.#entries].find(([, { pins }]) => pins === 0) ?? [];
        if (oldest === undefined) throw error;
        await this.#remove(oldest);
      }
    }
  }

  #lend(name: string, entry: Entry): CachedCopy {
    // The end of the map: used last. The time is for the next start.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const path = this.pathOf(name);
    const now = new Date();
    utimes(path, now, now).catch(() => {});
    let isHeld = true;
    return {
      path,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        entry.pins -= 1;
        this.#evict().catch(() => {});
      },
    };
  }

  #fetch(file: CachedFile): Promise<void> {
    const fetching = this.#download(file).finally(() => this.#fetching.delete(file.name));
    this.#fetching.set(file.name, fetching);
    return fetching;
  }

  async #download({ key, name, sizeBytes, sha256 }: CachedFile): Promise<void> {
    const { store, expectRoom, log } = this.#deps;
    await this.#evict(sizeBytes);
    await this.makeRoom(() => expectRoom(sizeBytes));
    const startedMs = performance.now();
    const part = `${this.pathOf(name)}${PART}`;
    const hash = createHash("sha256");
    let received = 0;
    try {
      const handle = await open(part, "w", 0o600);
      try {
        for await (const piece of await store.read(key)) {
          hash.update(piece);
          received += piece.length;
          await handle.writeFile(piece);
        }
      } finally {
        await handle.close();
      }
      const isSame = received === sizeBytes && (sha256 === null || hash.digest().equals(sha256));
      const counts = `${received} of ${sizeBytes} bytes, or another digest`;
      if (!isSame) throw new FileMissing(key, null, `${key} differs from what was stored: ${counts}`);
      await rename(part, this.pathOf(name));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    this.#entries.set(name, { sizeBytes, pins: 0 });
    log.info({ file: name, bytes: sizeBytes, ms: Math.round(performance.now() - startedMs) }, "video fetched");
  }

  /** Makes room for `bytes`, as far as copies are not in use. */
  async #evict(wantedBytes = 0): Promise<void> {
    for (const [name, { pins }] of [...this.#entries]) {
      if (this.bytes + wantedBytes <= this.#deps.maxBytes) return;
      if (pins === 0 && this.#entries.get(name)?.pins === 0) await this.#remove(name);
    }
  }

  async #remove(name: string): Promise<void> {
    this.#entries.delete(name);
    await rm(this.pathOf(name), { force: true });
  }
}
