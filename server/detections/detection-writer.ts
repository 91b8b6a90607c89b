/**
 * Writes the detections of one process. A message becomes a line at once; lines are compressed and appended every few
 * seconds, so that a crash loses no more than that. The process never waits: what cannot be written is counted and dropped.
 */
import type { Logger } from "pino";
import type { CameraMessage } from "../../schemas/camera-message.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Semaphore } from "../async/semaphore.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { backoff } from "../async/timing.ts";
import { AppendedFile, joinSpans } from "./append-file.ts";
import type { TimeSpan } from "./gzip-parts.ts";
import { type KnownInput, LineWriter, writeCamera } from "./message-lines.ts";

/** Of all processes. */
export interface DetectionNumbers {
  written: number;
  /** Never written: no space, a fault of the disk, or too slow a disk. */
  lost: number;
  bytes: number;
}

export const LIMITS = {
  /** What a crash loses. */
  flushMs: 5_000,
  /** Of a part, by capture time: what is read to find a moment. */
  partMs: 60_000,
  partBytes: 1_000_000,
  /** Objects whose last values a part keeps. */
  partTracks: 10_000,
  /** Lines that are not written yet. */
  queuedBytes: 2_000_000,
  /** So much is written before its time. */
  flushBytes: 200_000,
  /** After such a pause the file may have been removed: the next part can begin another one. */
  idleMs: 30_000,
};
export type WriterLimits = typeof LIMITS;

export interface WriterDeps {
  readonly processUuid: string;
  readonly log: Logger;
  /** There is space. */
  isAllowed(): boolean;
  /** Of one file. */
  readonly segmentMs: number;
  /** The path of a new file. Rejects if none can be created. */
  nextFile(processUuid: string): Promise<string>;
  /** Capture time of second 0 of a video file; null for a live source. */
  videoStartMs(): number | null;
  readonly numbers: DetectionNumbers;
  /** Files that are open at once, of all processes. */
  readonly slots: Semaphore;
  /** Set in tests. */
  readonly limits?: Partial<WriterLimits>;
  now?(): number;
}

const RETRY = { firstMs: 5_000, maxMs: 300_000 };
const NEVER = new AbortController().signal;
/** The name of a new file may be taken by the last file of the same process, which has just ended and begun again. */
const NAME_TRIES = 5;

/** Lines of one part that are not written yet. */
interface Chunk {
  readonly begins: "file" | "part" | null;
  readonly lines: string[];
  bytes: number;
  span: TimeSpan;
}

interface CurrentPart {
  readonly writer: LineWriter;
  /** By capture time. */
  readonly sinceMs: number;
  bytes: number;
}

export class DetectionWriter {
  readonly #deps: WriterDeps;
  readonly #limits: WriterLimits;
  readonly #now: () => number;
  readonly #writing = new SerialQueue();
  /** Of the next line; null: it begins a file. */
  #part: CurrentPart | null = null;
  #known: KnownInput | null = null;
  /** Written before the next message: its time is within those of its part. */
  #camera: CameraMessage | null = null;
  /** By the clock: when the file of that part began, and when a line was added last. */
  #fileSinceMs = 0;
  #addedMs = 0;
  #chunks: Chunk[] = [];
  #queuedBytes = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;
  #file: AppendedFile | null = null;
  /** In a row. */
  #failures = 0;
  #notBeforeMs = 0;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
    this.#now = deps.now ?? (() => performance.now());
  }

  /** Never waits. */
  add(message: DetectionMessage): void {
    const { numbers, isAllowed, log } = this.#deps;
    const isSpace = isAllowed();
    if (!isSpace) this.endFile();
    const timeMs = Date.parse(message.timestamp);
    const isFull = this.#queuedBytes > this.#limits.queuedBytes;
    if (isFull && !this.#isFull) log.warn("detections lost: they cannot be written fast enough");
    this.#isFull = isFull;
    if (!isSpace || isFull || this.#now() < this.#notBeforeMs || Number.isNaN(timeMs)) numbers.lost += 1;
    else this.#append(message, timeMs);
  }

  /** Never waits. */
  addCamera(camera: CameraMessage): void {
    this.#camera = camera;
  }

  /** What follows is in another file. */
  endFile(): void {
    if (this.#part === null) return;
    this.#known = this.#part.writer.known;
    this.#part = null;
    void this.flush();
  }

  /** Resolves when what was added is written or lost. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#writing.run(async () => {
      const release = await this.#deps.slots.acquire(NEVER);
      try {
        for (let chunk = this.#take(); chunk !== null; chunk = this.#take()) await this.#write(chunk);
        if (this.#part === null) await this.#completeFile();
      } catch (error) {
        this.#fail(error as Error);
      } finally {
        release();
      }
    });
  }

  #append(message: DetectionMessage, timeMs: number): void {
    const { begins, part } = this.#findPart(message, timeMs);
    const header = begins === null ? "" : part.writer.header;
    const camera = this.#camera === null ? "" : writeCamera(this.#camera);
    this.#camera = null;
    const line = header + camera + part.writer.write(message, timeMs);
    const span = { firstMs: timeMs, lastMs: timeMs };
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || begins !== null) {
      chunk = { begins, lines: [], bytes: 0, span };
      this.#chunks.push(chunk);
    }
    chunk.lines.push(line);
    chunk.bytes += line.length;
    chunk.span = joinSpans(chunk.span, span);
    part.bytes += line.length;
    this.#queuedBytes += line.length;
    if (chunk.bytes > this.#limits.flushBytes) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), this.#limits.flushMs).unref();
  }

  /** The current part, or a new one if that is due. */
  #findPart(message: DetectionMessage, timeMs: number): { begins: Chunk["begins"]; part: CurrentPart } {
    const { processUuid, segmentMs, videoStartMs } = this.#deps;
    const { partMs, partBytes, partTracks, idleMs } = this.#limits;
    const nowMs = this.#now();
    const idleForMs = nowMs - this.#addedMs;
    this.#addedMs = nowMs;
    const current = this.#part;
    const isFileDue = current === null || nowMs - this.#fileSinceMs >= segmentMs;
    const isPartDue =
      isFileDue ||
      Math.abs(timeMs - current.sinceMs) >= partMs ||
      current.bytes >= partBytes ||
      current.writer.tracks >= partTracks ||
      idleForMs >= idleMs;
    if (!isPartDue) return { begins: null, part: current };
    const options = { process: processUuid, source: message.source_uri, videoStartMs: videoStartMs() };
    const known = current?.writer.known ?? this.#known;
    const part = { writer: new LineWriter(options, timeMs, known), sinceMs: timeMs, bytes: 0 };
    this.#part = part;
    if (isFileDue) this.#fileSinceMs = nowMs;
    return { begins: isFileDue ? "file" : "part", part };
  }

  /** Lines that are added afterwards are another chunk. */
  #take(): Chunk | null {
    const chunk = this.#chunks.shift() ?? null;
    this.#queuedBytes -= chunk?.bytes ?? 0;
    return chunk;
  }

  async #write(chunk: Chunk): Promise<void> {
    const { numbers } = this.#deps;
    const { begins, lines, span } = chunk;
    const text = lines.join("");
    try {
      if (begins === "file") await this.#completeFile();
      const bytes = (await this.#file?.append(text, span, begins !== null)) ?? (await this.#beginFile(chunk, text));
      numbers.bytes += bytes;
    } catch (error) {
      numbers.lost += lines.length;
      throw error;
    }
    numbers.written += lines.length;
    this.#failures = 0;
  }

  async #beginFile({ begins, span }: Chunk, text: string): Promise<number> {
    const { processUuid, nextFile } = this.#deps;
    if (begins === null) throw new Error("its file was removed");
    for (let left = NAME_TRIES; ; left--) {
      try {
        const file = new AppendedFile(await nextFile(processUuid));
        const bytes = (await file.append(text, span, true)) ?? 0;
        this.#file = file;
        return bytes;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || left === 0) throw error;
      }
    }
  }

  async #completeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.complete();
  }

  /** Tries again with another file, after a while. */
  #fail(error: Error): void {
    const { numbers, log } = this.#deps;
    const lost = this.#chunks.reduce((sum, { lines }) => sum + lines.length, 0);
    numbers.lost += lost;
    this.#chunks = [];
    this.#queuedBytes = 0;
    this.#file = null;
    this.#known = this.#part?.writer.known ?? this.#known;
    this.#part = null;
    this.#failures += 1;
    const waitMs = backoff(this.#failures, RETRY);
    this.#notBeforeMs = this.#now() + waitMs;
    log.warn({ err: error, waitMs: Math.round(waitMs) }, "detections could not be stored; retrying");
  }
}
