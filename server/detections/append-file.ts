/** Appends to a file of gzip parts. It is open only while something is written: many processes have few open files. */
import { type FileHandle, open } from "node:fs/promises";
import { PartDeflater, type PartInfo, type TimeSpan, writePartHeader } from "./gzip-parts.ts";

interface OpenPart {
  readonly at: number;
  readonly deflater: PartDeflater;
  span: TimeSpan;
}

export const joinSpans = (a: TimeSpan | null, b: TimeSpan): TimeSpan =>
  a === null ? b : { firstMs: Math.min(a.firstMs, b.firstMs), lastMs: Math.max(a.lastMs, b.lastMs) };

/** After a rejection its end is unknown: it can be read, and not be appended to. */
export class AppendedFile {
  readonly #path: string;
  #bytes = 0;
  #span: TimeSpan | null = null;
  #part: OpenPart | null = null;
  #firstPart: PartInfo | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Lines for the current part, or for a new one. Resolves with the bytes written; null: the file was removed. */
  async append(text: string, span: TimeSpan, beginsPart: boolean): Promise<number | null> {
    const before = this.#bytes;
    const isThere = await this.#withHandle(async (handle) => {
      if (beginsPart) await this.#completePart(handle);
      const part = this.#part ?? { at: this.#bytes, deflater: new PartDeflater(), span };
      const data = await part.deflater.deflate(text);
      const header = this.#part === null ? writePartHeader({ bytes: null, span: null, fileSpan: null }) : EMPTY;
      this.#part = part;
      part.span = joinSpans(part.span, span);
      await this.#write(handle, Buffer.concat([header, data]));
    });
    return isThere ? this.#bytes - before : null;
  }

  /** Nothing follows. */
  async complete(): Promise<void> {
    await this.#withHandle(async (handle) => {
      await this.#completePart(handle);
      if (this.#firstPart === null) return;
      await writeAll(handle, writePartHeader({ ...this.#firstPart, fileSpan: this.#span }), 0);
    });
  }

  /** A reader that sees a further part sees the length of this one: that is written before. */
  async #completePart(handle: FileHandle): Promise<void> {
    const part = this.#part;
    if (part === null) return;
    await this.#write(handle, part.deflater.end());
    const info = { bytes: this.#bytes - part.at, span: part.span, fileSpan: null };
    await writeAll(handle, writePartHeader(info), part.at);
    this.#firstPart ??= info;
    this.#span = joinSpans(this.#span, part.span);
    this.#part = null;
  }

  async #write(handle: FileHandle, data: Buffer): Promise<void> {
    await writeAll(handle, data, this.#bytes);
    this.#bytes += data.length;
  }

  async #withHandle(work: (handle: FileHandle) => Promise<void>): Promise<boolean> {
    const handle = await open(this.#path, this.#bytes === 0 ? "wx" : "r+", 0o600).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" && this.#bytes > 0) return null;
        throw error;
      },
    );
    if (handle === null) return false;
    try {
      await work(handle);
      return true;
    } finally {
      await handle.close();
    }
  }
}

const EMPTY = Buffer.alloc(0);

async function writeAll(handle: FileHandle, data: Buffer, at: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await handle.write(data, done, data.length - done, at + done);
    done += bytesWritten;
  }
}
