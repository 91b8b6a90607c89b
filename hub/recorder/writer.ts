/**
 * Writes the files of one recording in a serial queue and reports what is on disk. Callers never wait, and check
 * `queuedBytes` themselves. A write error ends only this recording.
 */
import { mkdir, readdir, rmdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Tracks } from "../../media/access-unit.ts";
import type { Fragment } from "../../media/mp4/fragmenter.ts";
import type { HubMessage } from "../../schemas/hub.ts";
import type { Log } from "../log.ts";
import { SegmentFile } from "./segment-file.ts";

export type RecordingMessage = Extract<HubMessage, { type: "segment" | "recorded" }>;

export interface RecorderOptions {
  /** Name of the recording and of its folder. */
  readonly recording: string;
  /** Of the stream. */
  readonly path: string;
  /** Root of all recordings: `<folder>/<recording>/<index>.mp4`. */
  readonly folder: string;
  readonly segmentSeconds: number;
  /** The capture times are those of detections: where they leave those of the file, another one begins. */
  readonly followsClock?: boolean;
  /** Of the disk, which recordings leave free. */
  readonly reserveBytes: number;
  /** Bytes that may be queued for the disk. */
  readonly readerBytes: number;
  readonly notify: (message: RecordingMessage) => void;
  readonly log: Log;
}

/** What a file starts with. */
export interface SegmentStart {
  readonly tracks: Tracks;
  readonly startedAtMs: number;
}

const NOTIFY_MS = 900;
const DISK_CHECK_MS = 1000;
const FILE_NAME = /^(\d+)\.mp4$/;

export class Writer {
  readonly #options: RecorderOptions;
  readonly #folder: string;
  /** Resolves when everything is written and reported. */
  readonly done: Promise<void>;
  #resolveDone = () => {};
  queuedBytes = 0;
  /** Why writing has stopped. */
  failure: string | null = null;
  #queue = Promise.resolve();
  #isEnded = false;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #open: { readonly file: SegmentFile; readonly index: number; readonly start: SegmentStart } | null = null;
  #nextIndex: number | null = null;
  #notifiedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#folder = join(options.folder, options.recording);
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    this.#enqueue(async () => {
      await mkdir(options.folder, { recursive: true });
    });
  }

  /** `start`: the fragment starts a new file. */
  write(fragment: Fragment, start: SegmentStart | null): void {
    if (this.#isEnded) return;
    const bytes = fragment.data.length;
    this.queuedBytes += bytes;
    this.#enqueue(async () => {
      this.queuedBytes -= bytes;
      if (this.failure !== null) return;
      await this.#checkDisk();
      if (start !== null) await this.#startFile(start, fragment);
      else await this.#open?.file.append(fragment);
      this.#notifySegment(start !== null);
    });
  }

  /** `detail`: the reason, unless the stream has ended. */
  end(detail: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#enqueue(async () => {
      if (this.failure !== null) return;
      await this.#finishFile();
      this.#conclude(detail);
    });
  }

  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch((error) => this.#fail(explainDiskError(error)));
  }

  /** Keeps what is written. */
  async #fail(detail: string): Promise<void> {
    this.failure = detail;
    this.#isEnded = true;
    await this.#finishFile().catch(() => {});
    this.#conclude(detail);
  }

  async #startFile(start: SegmentStart, first: Fragment): Promise<void> {
    await this.#finishFile();
    const index = this.#nextIndex ?? (await this.#findIndex());
    const name = join(this.#folder, `${index}.mp4`);
    const label = { path: this.#options.path, startedAtMs: start.startedAtMs };
    const file = await SegmentFile.create(name, start.tracks, label, first);
    this.#open = { file, index, start };
    this.#nextIndex = index + 1;
  }

  async #findIndex(): Promise<number> {
    await mkdir(this.#folder, { recursive: true });
    const used = (await readdir(this.#folder)).map((name) => Number(FILE_NAME.exec(name)?.[1] ?? -1));
    return Math.max(-1, ...used) + 1;
  }

  async #finishFile(): Promise<void> {
    const open = this.#open;
    if (open === null) {
      // Removes the folder of an empty recording; a folder with files stays.
      await rmdir(this.#folder).catch(() => {});
      return;
    }
    try {
      await open.file.finish();
    } finally {
      this.#notifySegment(true);
      this.#open = null;
    }
  }

  #notifySegment(isDue: boolean): void {
    if (this.#open === null || (!isDue && performance.now() - this.#notifiedAtMs < NOTIFY_MS)) return;
    this.#notifiedAtMs = performance.now();
    const { file, index, start } = this.#open;
    const { recording, path, notify } = this.#options;
    const { bytes, durationMs } = file;
    notify({ type: "segment", segment: { recording, path, index, startedAtMs: start.startedAtMs, durationMs, bytes } });
  }

  /** Checks about once per second; rejects with `DiskFull`. */
  async #checkDisk(): Promise<void> {
    if (performance.now() - this.#checkedAtMs < DISK_CHECK_MS) return;
    this.#checkedAtMs = performance.now();
    const { folder, reserveBytes } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    if (free >= reserveBytes) return;
    throw new DiskFull(
      `the disk has ${toMegabytes(free)} free, but ${toMegabytes(reserveBytes)} must stay free: delete recordings`,
    );
  }

  #conclude(detail: string | null): void {
    this.#options.notify({ type: "recorded", recording: this.#options.recording, stoppedAtMs: Date.now(), detail });
    this.#resolveDone();
  }
}

/** The message is the reason that the user gets. */
class DiskFull extends Error {}

const toMegabytes = (bytes: number): string => `${Math.floor(bytes / 1e6)} MB`;

/** Without file names. */
export function explainDiskError(error: unknown): string {
  if (error instanceof DiskFull) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOSPC" || code === "EDQUOT") return "the disk is full";
  return `the recording could not be written${code === "" ? "" : ` (${code})`}`;
}
