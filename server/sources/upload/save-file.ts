import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { diskFull } from "../video-folder.ts";

/** A file that is written as it arrives, with its digest. */
export class SavedFile {
  readonly #hash = createHash("sha256");
  readonly #expect: (bytes: number) => Promise<void>;
  #path: string | null = null;
  #bytes = 0;

  /** @param expect rejects when the file may not grow to so many bytes */
  constructor(expect: (bytes: number) => Promise<void>) {
    this.#expect = expect;
  }

  /** Null until it is taken: then there may be such a file. */
  get path(): string | null {
    return this.#path;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Once, after `take`. */
  digest(): Buffer {
    return this.#hash.digest();
  }

  /** Resolves when all of it is on the disk to stay. */
  async take(stream: Readable, path: string): Promise<void> {
    this.#path = path;
    const handle = await open(path, "wx", 0o600).catch(explainFull);
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        await this.#expect(this.#bytes + chunk.length);
        this.#bytes += chunk.length;
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
