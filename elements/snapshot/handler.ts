import type { Frame, Handler, Log } from "../element.ts";
import { formatPath, readPictureType, writePicture } from "./picture-file.ts";

export interface SnapshotProperties {
  readonly path: string;
  readonly at: readonly number[];
  readonly every?: number;
}

const REPORT_EVERY_MS = 1000;

export class SnapshotHandler implements Pick<Handler, "process" | "flush" | "end" | "close"> {
  readonly #path: string;
  readonly #log: Log;
  readonly #schedule: Schedule;
  #taken = 0;
  #failed = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;
  /** One file is written at a time; the next image waits for it, other frames do not. */
  #writing: Promise<void> = Promise.resolve();

  constructor(properties: SnapshotProperties, log: Log) {
    this.#path = properties.path;
    this.#log = log;
    this.#schedule = new Schedule(readMoments(properties));
  }

  async process(frame: Frame): Promise<void> {
    const { ptsNs } = frame;
    if (ptsNs === null || !this.#schedule.isDue(ptsNs)) return;
    const path = formatPath(this.#path, this.#taken, ptsNs);
    this.#taken += 1;
    try {
      const bytes = await frame.image(readPictureType(path) ?? "image/png");
      await this.#writing;
      this.#writing = writePicture(path, bytes).catch((error: unknown) => this.#countFailure(path, error));
    } catch (error) {
      // A frame discarded by a stop or a seek is not a failure.
      if (!frame.signal.aborted) this.#countFailure(path, error);
    }
  }

  update(properties: SnapshotProperties): void {
    this.#schedule.change(readMoments(properties));
  }

  flush(): void {
    this.#schedule.restart();
  }

  async end(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing;
    if (this.#failed > 0) this.#log.error("snapshots failed", { failed: this.#failed, of: this.#taken });
  }

  #countFailure(path: string, error: unknown): void {
    this.#failed += 1;
    if (performance.now() - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.error("snapshot failed", { path, reason, failed: this.#failed });
  }
}

const readMoments = ({ at, every }: SnapshotProperties): Moments => ({ at, every: every ?? null });

export interface Moments {
  /** Seconds into the stream. */
  readonly at: readonly number[];
  /** Interval in seconds, from 0 on; null for none. */
  readonly every: number | null;
}

/** Decides which frames to write: the first at or after each moment. Moments already past share one frame. */
export class Schedule {
  #moments: Moments;
  #lastNs: bigint | null = null;

  constructor(moments: Moments) {
    this.#moments = moments;
  }

  /** Applies other moments from the current position on. */
  change(moments: Moments): void {
    this.#moments = moments;
  }

  isDue(ptsNs: bigint): boolean {
    const afterNs = this.#lastNs;
    if (afterNs !== null && ptsNs <= afterNs) return false;
    this.#lastNs = ptsNs;
    const isReached = (momentNs: bigint): boolean => momentNs <= ptsNs && (afterNs === null || momentNs > afterNs);
    return this.#moments.at.some((second) => isReached(toNs(second))) || isReached(this.#lastTickNs(ptsNs));
  }

  /** The stream jumped: the position is unknown. */
  restart(): void {
    this.#lastNs = null;
  }

  #lastTickNs(ptsNs: bigint): bigint {
    const everyNs = this.#moments.every === null ? 0n : toNs(this.#moments.every);
    return everyNs > 0n ? ptsNs - (ptsNs % everyNs) : ptsNs + 1n;
  }
}

const toNs = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));
