/** A file that is being uploaded. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { diskFull } from "./video-files.ts";

/** A file that is written as it arrives, with its digest. */
export class PartialFile {
  readonly #hash = createHash("sha256");
  readonly #expect: (bytes: number) => Promise<void>;
  /** Null before `save`. The file may exist after that. */
  path: string | null = null;
  bytes = 0;

  /** @param expect rejects if the file may not grow to this size */
  constructor(expect: (bytes: number) => Promise<void>) {
    this.#expect = expect;
  }

  /** Once, after `save`. */
  digest(): Buffer {
    return this.#hash.digest();
  }

  /** Resolves when all of it is synced to disk. */
  async save(stream: Readable, path: string): Promise<void> {
    this.path = path;
    const handle = await open(path, "wx", 0o600).catch(explainFull);
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        await this.#expect(this.bytes + chunk.length);
        this.bytes += chunk.length;
        this.#hash.update(chunk);
        await writeAll(handle, chunk).catch(explainFull);
      }
      await handle.sync().catch(explainFull);
    } finally {
      await handle.close();
    }
  }
}

async function writeAll(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
}

function explainFull(error: NodeJS.ErrnoException): never {
  throw error.code === "ENOSPC" || error.code === "EDQUOT" ? diskFull(error) : error;
}
