/** The messages of one file of stored detections, with one part of it in memory. */
import { type FileHandle, open } from "node:fs/promises";
import type { CameraMessage } from "../../schemas/camera-message.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { ByteRange, Pieces } from "../files/file-store.ts";
import { HEADER_BYTES, inflatePart, readPartHeader, type TimeSpan } from "./gzip-parts.ts";
import { CAMERA_LINE } from "./message-lines.ts";
import type { PartHeader } from "./object-reader.ts";
import { LineReader } from "./read-lines.ts";

/** Capture times: `fromMs` inclusive, `toMs` exclusive. */
export interface MessageRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export const ALL_TIMES: MessageRange = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

interface ReadOptions {
  readonly range: MessageRange;
  /** Some of it cannot be read; what comes before, and later parts, are. */
  onDamaged(error: Error): void;
  /** Of each part that is read. */
  onHeader?(header: PartHeader): void;
}

/** The file was not written by this service. */
export class NotDetections extends Error {
  override readonly name = "NotDetections";
}

/** A file that is being read. */
export interface PartFile {
  /** The end may be in the middle of what is being written. */
  readonly bytes: number;
  read(range: ByteRange): Promise<Buffer>;
}

/** Oldest first. Rejects with `NotDetections`, or with what `file.read` rejects with. */
export async function* readMessages(
  file: PartFile,
  { range, onDamaged, onHeader }: ReadOptions,
): AsyncGenerator<DetectionMessage, void, undefined> {
  for await (const text of readParts(file, range, onDamaged)) {
    const reader = new LineReader();
    for (const line of splitLines(text)) {
      try {
        const isFirst = reader.header === null;
        const found = reader.read(line);
        if (isFirst && reader.header !== null) onHeader?.(reader.header);
        if (found !== null && isWithin(found.timeMs, range)) yield found.message;
      } catch (error) {
        // Lines that follow are differences to it.
        onDamaged(error as Error);
        break;
      }
    }
  }
}

/** Where the camera was, oldest first. Rejects as `readMessages` does. */
export async function* readCameras(
  file: PartFile,
  { range, onDamaged }: Omit<ReadOptions, "onHeader">,
): AsyncGenerator<CameraMessage, void, undefined> {
  for await (const text of readParts(file, range, onDamaged)) {
    let process = "";
    for (const line of splitLines(text)) {
      if (process !== "" && !line.startsWith(CAMERA_LINE)) continue;
      let value: Partial<PartHeader> & { readonly camera?: Omit<CameraMessage, "process_uuid"> };
      try {
        value = JSON.parse(line);
      } catch (error) {
        onDamaged(error as Error);
        break;
      }
      if (process === "") process = value.process ?? "?";
      const { camera } = value;
      if (camera !== undefined && isWithin(Date.parse(camera.timestamp), range))
        yield { ...camera, process_uuid: process };
    }
  }
}

const isWithin = (timeMs: number, { fromMs, toMs }: MessageRange): boolean => timeMs >= fromMs && timeMs < toMs;

/** The text of the parts that may have messages of this range. */
async function* readParts(
  file: PartFile,
  range: MessageRange,
  onDamaged: ReadOptions["onDamaged"],
): AsyncGenerator<string, void, undefined> {
  for await (const { first, last } of findParts(file, range)) {
    const data = await file.read({ first, last });
    let text: string;
    try {
      text = (await inflatePart(data)).toString();
    } catch (error) {
      onDamaged(error as Error);
      continue;
    }
    yield text;
  }
}

/** Without the last line of a file that was not completed. */
function* splitLines(text: string): Generator<string, void, undefined> {
  for (let at = 0; ; ) {
    const end = text.indexOf("\n", at);
    if (end < 0) return;
    yield text.slice(at, end);
    at = end + 1;
  }
}

/** The parts that may have messages of this range. */
async function* findParts(file: PartFile, range: MessageRange): AsyncGenerator<ByteRange, void, undefined> {
  for (let at = 0; at < file.bytes; ) {
    const last = Math.min(at + HEADER_BYTES, file.bytes) - 1;
    const head = await file.read({ first: at, last });
    const info = readPartHeader(head);
    if (info === null) {
      // The next part has just begun, or the file was removed.
      if (at > 0 || head.length < HEADER_BYTES) return;
      throw new NotDetections("is not a file of stored detections");
    }
    if (at === 0 && info.fileSpan !== null && !overlaps(info.fileSpan, range)) return;
    const end = info.bytes === null ? file.bytes : Math.min(at + info.bytes, file.bytes);
    if (info.span === null || overlaps(info.span, range)) yield { first: at, last: end - 1 };
    at = end;
  }
}

export const overlaps = ({ firstMs, lastMs }: TimeSpan, { fromMs, toMs }: MessageRange): boolean =>
  lastMs >= fromMs && firstMs < toMs;

/** The times of all its messages; null if it was not completed. */
export async function readFileSpan(file: PartFile): Promise<TimeSpan | null> {
  if (file.bytes < HEADER_BYTES) return null;
  return readPartHeader(await file.read({ first: 0, last: HEADER_BYTES - 1 }))?.fileSpan ?? null;
}

/** A file of this machine. Rejects with the system error if it cannot be opened. */
export class LocalFile implements PartFile {
  readonly bytes: number;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, bytes: number) {
    this.#handle = handle;
    this.bytes = bytes;
  }

  static async open(path: string): Promise<LocalFile> {
    const handle = await open(path, "r");
    try {
      return new LocalFile(handle, (await handle.stat()).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async read({ first, last }: ByteRange): Promise<Buffer> {
    const data = Buffer.alloc(last - first + 1);
    const { bytesRead } = await this.#handle.read(data, 0, data.length, first);
    return data.subarray(0, bytesRead);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Of one request to the bucket: most files are smaller. */
const WINDOW_BYTES = 2 ** 20;

/** A file in the bucket. */
export class StoredFile implements PartFile {
  readonly bytes: number;
  readonly #read: (range: ByteRange) => Promise<Pieces>;
  #window = { at: 0, data: Buffer.alloc(0) };

  constructor(bytes: number, read: (range: ByteRange) => Promise<Pieces>) {
    this.bytes = bytes;
    this.#read = read;
  }

  async read({ first, last }: ByteRange): Promise<Buffer> {
    const { at, data } = this.#window;
    if (first < at || last >= at + data.length) {
      const end = Math.min(this.bytes - 1, Math.max(last, first + WINDOW_BYTES - 1));
      const pieces: Uint8Array[] = [];
      for await (const piece of await this.#read({ first, last: end })) pieces.push(piece);
      this.#window = { at: first, data: Buffer.concat(pieces) };
    }
    const offset = first - this.#window.at;
    return this.#window.data.subarray(offset, offset + last - first + 1);
  }
}

/** Text that is sent at once. */
const PIECE_CHARACTERS = 65_536;

/** One message per line. */
export async function* writeLines(messages: AsyncIterable<unknown>): AsyncGenerator<string, void, undefined> {
  let text = "";
  for await (const message of messages) {
    text += `${JSON.stringify(message)}\n`;
    if (text.length < PIECE_CHARACTERS) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}
