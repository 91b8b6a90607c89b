/**
 * Writes the files of one recording, one step after the other, and tells what is safe. Whoever fills it never waits; how
 * much waits for the disk is for them to look at. What cannot be written ends the recording, and nothing else.
 */

import { mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Tracks } from "../../media/access-unit.ts";
import type { Fragment } from "../../media/mp4/fragmenter.ts";
import type { HubMessage } from "../../schemas/hub.ts";
import { type Disk, explain } from "./disk.ts";
import { SegmentFile } from "./segment-file.ts";

export type RecordingMessage = Extract<HubMessage, { type: "segment" | "recorded" }>;

export interface WriterOptions {
  readonly recording: string;
  /** Of the stream. */
  readonly path: string;
  /** Of all recordings. */
  readonly folder: string;
  readonly disk: Disk;
  readonly tell: (message: RecordingMessage) => void;
}

/** What a file begins with. */
export interface SegmentStart {
  readonly tracks: Tracks;
  readonly startedAtMs: number;
}

const TELL_MS = 900;
const FILE_NAME = /^(\d+)\.mp4$/;

export class Writer {
  readonly #options: WriterOptions;
  readonly #folder: string;
  readonly #done: Promise<void>;
  #resolveDone = () => {};
  #steps = Promise.resolve();
  #waitingBytes = 0;
  #isEnded = false;
  #failure: string | null = null;
  #open: { readonly file: SegmentFile; readonly index: number; readonly start: SegmentStart } | null = null;
  #nextIndex: number | null = null;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#folder = join(options.folder, options.recording);
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    this.#step(async () => {
      await mkdir(options.folder, { recursive: true });
    });
  }

  /** Given and not written yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Why nothing is written any more. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Everything is written and told. */
  get done(): Promise<void> {
    return this.#done;
  }

  /** `start`: a new file begins with it. */
  write(fragment: Fragment, start: SegmentStart | null): void {
    if (this.#isEnded) return;
    const bytes = fragment.data.length;
    this.#waitingBytes += bytes;
    this.#step(async () => {
      this.#waitingBytes -= bytes;
      if (this.#failure !== null) return;
      await this.#options.disk.check();
      if (start !== null) await this.#begin(start, fragment);
      else await this.#open?.file.append(fragment);
      this.#tellSegment(start !== null);
    });
  }

  /** `detail`: why, if not because its stream stopped. */
  end(detail: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#step(async () => {
      if (this.#failure !== null) return;
      await this.#finish();
      this.#conclude(detail);
    });
  }

  #step(work: () => Promise<void>): void {
    this.#steps = this.#steps.then(work).catch((error) => this.#fail(explain(error)));
  }

  /** What was written is kept. */
  async #fail(detail: string): Promise<void> {
    this.#failure = detail;
    this.#isEnded = true;
    await this.#finish().catch(() => {});
    this.#conclude(detail);
  }

  async #begin(start: SegmentStart, first: Fragment): Promise<void> {
    await this.#finish();
    const index = await this.#findIndex();
    const name = join(this.#folder, `${index}.mp4`);
    const label = { path: this.#options.path, startedAtMs: start.startedAtMs };
    const file = await SegmentFile.create(name, start.tracks, label, first);
    this.#open = { file, index, start };
    this.#nextIndex = index + 1;
  }

  async #findIndex(): Promise<number> {
    if (this.#nextIndex !== null) return this.#nextIndex;
    await mkdir(this.#folder, { recursive: true });
    const taken = (await readdir(this.#folder)).map((name) => Number(FILE_NAME.exec(name)?.[1] ?? -1));
    return Math.max(-1, ...taken) + 1;
  }

  async #finish(): Promise<void> {
    const open = this.#open;
    if (open === null) {
      // Empty recordings leave nothing behind. With a file in it, it stays.
      await rmdir(this.#folder).catch(() => {});
      return;
    }
    try {
      await open.file.finish();
    } finally {
      this.#tellSegment(true);
      this.#open = null;
    }
  }

  #tellSegment(isDue: boolean): void {
    if (this.#open === null || (!isDue && performance.now() - this.#toldAt < TELL_MS)) return;
    this.#toldAt = performance.now();
    const { file, index, start } = this.#open;
    const { recording, path, tell } = this.#options;
    const { bytes, durationMs } = file;
    tell({ type: "segment", segment: { recording, path, index, startedAtMs: start.startedAtMs, durationMs, bytes } });
  }

  #conclude(detail: string | null): void {
    this.#options.tell({ type: "recorded", recording: this.#options.recording, stoppedAtMs: Date.now(), detail });
    this.#resolveDone();
  }
}
