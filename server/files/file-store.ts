/** Where files are: a folder of this machine, or a bucket that all nodes share. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface ByteRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** With one piece in memory. `return()` ends it early. */
export type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

export interface StoredFile {
  /** A path with slashes: `recordings/<recording>/0.mp4`. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

/** What was put, as it was read. */
export interface PutFile {
  readonly sizeBytes: number;
  readonly sha256: Buffer;
}

/** Calls are idempotent and limited in time. They reject with `storage_unavailable` when retries did not help. */
export interface FileStore {
  /** For messages: without secrets. */
  readonly label: string;
  /** Stores a copy of a complete local file; readers see all of it or nothing. */
  put(key: string, path: string, signal?: AbortSignal): Promise<PutFile>;
  /** Rejects with `FileMissing`. */
  read(key: string, range?: ByteRange): Promise<Pieces>;
  stat(key: string): Promise<StoredFile | null>;
  /** A missing file is ignored. */
  remove(key: string): Promise<void>;
  list(prefix: string): AsyncGenerator<StoredFile, void, undefined>;
  close(): void;
}

export class FileMissing extends Error {
  override readonly name = "FileMissing";

  constructor(key: string, cause?: unknown, message = `there is no file ${key} in the storage`) {
    super(message, { cause });
  }
}

const PIECE_BYTES = 262_144;

/** A part of a local file. Rejects with the system error if it cannot be opened. */
export async function readFile(path: string, range: ByteRange): Promise<Pieces> {
  return readPieces(await open(path, "r"), range);
}

async function* readPieces(handle: FileHandle, { first, last }: ByteRange): Pieces {
  try {
    for (let at = first; at <= last; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, last - at + 1));
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      // Less than `Content-Length`: the client must not take it for the whole file.
      if (bytesRead === 0) throw new Error("the file was truncated while it was sent");
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Reads a file from its beginning, with its size and digest at the end. */
export class HashedFile {
  readonly #hash = createHash("sha256");
  readonly #path: string;
  #sizeBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of createReadStream(this.#path) as AsyncIterable<Buffer>) {
      this.#hash.update(piece);
      this.#sizeBytes += piece.length;
      yield piece;
    }
  }

  /** Once, after the last piece. */
  end(): PutFile {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest() };
  }
}

/** Keys are paths below the folder. */
export class FolderStore implements FileStore {
  readonly label: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.label = `the folder ${folder}`;
  }

  async put(key: string, path: string): Promise<PutFile> {
    const target = join(this.#folder, key);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    if (target !== path) {
      // By rename, so that it is never incomplete.
      await copyFile(path, `${target}.part`);
      await rename(`${target}.part`, target);
    }
    const file = new HashedFile(target);
    for await (const _ of file.read());
    return file.end();
  }

  async read(key: string, range?: ByteRange): Promise<Pieces> {
    const path = join(this.#folder, key);
    await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? new FileMissing(key, error) : error;
    });
    const limits = range === undefined ? {} : { start: range.first, end: range.last };
    return readStream(createReadStream(path, limits));
  }

  async stat(key: string): Promise<StoredFile | null> {
    const found = await stat(join(this.#folder, key)).catch(() => null);
    return found?.isFile() ? { key, sizeBytes: found.size, modifiedAt: found.mtime } : null;
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#folder, key), { force: true });
  }

  async *list(prefix: string): AsyncGenerator<StoredFile, void, undefined> {
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const entries = await readdir(join(this.#folder, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const key = `${folder}${entry.name}`;
      if (!key.startsWith(prefix)) continue;
      const found = entry.isFile() ? await this.stat(key) : null;
      if (found !== null) yield found;
      if (entry.isDirectory()) yield* this.list(`${key}/`);
    }
  }

  close(): void {}
}

async function* readStream(stream: AsyncIterable<Uint8Array>): Pieces {
  yield* stream;
}
