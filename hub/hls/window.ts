/**
 * The newest segments of a stream, each made of parts; the last one may still grow. Segments beyond the time and byte limits
 * are dropped. Playlists and files are served from it.
 */
import type { Tracks } from "../../media/access-unit.ts";
import type { Fragment } from "../../media/mp4/fragmenter.ts";

export interface Part {
  readonly number: number;
  readonly data: Buffer;
  readonly durationUs: number;
  /** Contains a keyframe. */
  readonly hasKey: boolean;
}

/** Changes with the tracks. */
export interface InitSegment {
  readonly number: number;
  readonly data: Buffer;
  readonly tracks: Tracks;
}

export interface Segment {
  /** Media sequence number. */
  readonly number: number;
  readonly init: InitSegment;
  /** The tracks differ from those of the previous segment. */
  readonly isDiscontinuous: boolean;
  readonly captureMs: number;
  readonly parts: readonly Part[];
  readonly durationUs: number;
  readonly bytes: number;
}

/** Stated in every playlist; must never change. */
export interface Targets {
  readonly segmentSeconds: number;
  readonly partUs: number;
}

type Growing = { -readonly [K in keyof Segment]: Segment[K] } & { parts: Part[] };

/**
 * Six pictures at 30 fps or five at 25 fps last 0.2 s; rounded timestamps must fit too, and parts shorter than 85 % of the
 * target are not allowed.
 */
const PART_US = 220_000;
const MIN_TARGET_S = 4;
const MAX_TARGET_S = 12;
/** Limit of the first segment while a viewer waits for it. */
const FIRST_SEGMENT_US = 4_000_000;
/** In target durations: listed, and kept for viewers with an older playlist. */
const LISTED_TARGETS = 3;
const KEPT_TARGETS = 2 * LISTED_TARGETS;

export class Window {
  /** Part of every file name, so that caches do not confuse files of different windows. */
  readonly name: string;
  readonly #maxBytes: () => number;
  init: InitSegment | null = null;
  growing: Growing | null = null;
  /** Number of the next part. */
  nextPart = 0;
  /** The stream has ended. */
  isEnded = false;
  #done: Segment[] = [];
  #nextSegment: number;
  #bytes = 0;
  #targets: Targets | null = null;
  #droppedDiscontinuities = 0;
  #maxPartUs = PART_US;
  /** Every segment ended before a keyframe. */
  #isRegular = true;
  /** A viewer waits for the first playlist. */
  isWanted = false;

  /** `firstNumber`: higher than all numbers of earlier windows of this stream. */
  constructor(firstNumber: number, maxBytes: () => number) {
    this.name = firstNumber.toString(36);
    this.#nextSegment = firstNumber;
    this.#maxBytes = maxBytes;
  }

  /** Number of the growing segment, or of the next one. */
  get growingNumber(): number {
    return this.growing?.number ?? this.#nextSegment;
  }

  /** At least one segment is complete. */
  get isReady(): boolean {
    return this.#done.length > 0;
  }

  get maxSegmentUs(): number {
    if (this.#targets !== null) return this.#targets.segmentSeconds * 1e6;
    return this.isWanted && !this.isReady ? FIRST_SEGMENT_US : MAX_TARGET_S * 1e6;
  }

  get maxPartUs(): number {
    return this.#targets?.partUs ?? PART_US;
  }

  /** Several segments must fit. */
  get maxSegmentBytes(): number {
    return this.#maxBytes() / 8;
  }

  /** The highest bit rate of a segment. */
  get peakBitrate(): number {
    const rates = this.#segments.map(({ bytes, durationUs }) => (durationUs === 0 ? 0 : (bytes * 8e6) / durationUs));
    return Math.ceil(Math.max(0, ...rates));
  }

  /** Fixed by the first call. */
  get targets(): Targets {
    this.#targets ??= this.#chooseTargets();
    return this.#targets;
  }

  /** Complete segments in the playlist, oldest first. */
  listed(): readonly Segment[] {
    const first = this.#findFrom(LISTED_TARGETS);
    return this.#done.slice(first);
  }

  /** Discontinuities before the first listed segment. */
  countDiscontinuities(): number {
    const unlisted = this.#done.slice(0, this.#findFrom(LISTED_TARGETS));
    return this.#droppedDiscontinuities + unlisted.filter(({ isDiscontinuous }) => isDiscontinuous).length;
  }

  findSegment(number: number): Segment | null {
    return this.#done.find((segment) => segment.number === number) ?? null;
  }

  findPart(number: number): Part | null {
    for (const { parts } of this.#segments) {
      const found = parts[number - (parts[0]?.number ?? 0)];
      if (found?.number === number) return found;
    }
    return null;
  }

  findInit(number: number): InitSegment | null {
    const inits = [this.init, ...this.#done.map(({ init }) => init)];
    return inits.find((init) => init?.number === number) ?? null;
  }

  /** For the next segments; the previous one must have ended. */
  setInit(data: Buffer, tracks: Tracks): void {
    this.init = { number: (this.init?.number ?? -1) + 1, data, tracks };
  }

  /** `captureMs`: of the first picture. */
  addPart({ data, durationUs, hasKey }: Fragment, captureMs: number): void {
    if (this.init === null) return;
    const growing = this.growing ?? this.#beginSegment(this.init, captureMs);
    growing.parts.push({ number: this.nextPart++, data, durationUs, hasKey });
    growing.durationUs += durationUs;
    growing.bytes += data.length;
    this.#bytes += data.length;
    this.#maxPartUs = Math.max(this.#maxPartUs, durationUs);
  }

  endSegment(isBeforeKey: boolean): void {
    if (this.growing === null) return;
    this.#done.push(this.growing);
    this.growing = null;
    this.#isRegular &&= isBeforeKey;
    this.#trim();
  }

  end(): void {
    this.endSegment(true);
    this.isEnded = true;
  }

  get #segments(): readonly Segment[] {
    return this.growing === null ? this.#done : [...this.#done, this.growing];
  }

  #beginSegment(init: InitSegment, captureMs: number): Growing {
    const before = this.#done.at(-1);
    const isDiscontinuous = before !== undefined && before.init !== init;
    const number = this.#nextSegment++;
    this.growing = { number, init, isDiscontinuous, captureMs, parts: [], durationUs: 0, bytes: 0 };
    return this.growing;
  }

  #chooseTargets(): Targets {
    const longestUs = Math.max(0, ...this.#done.map(({ durationUs }) => durationUs));
    // Twice the longest so far: GOPs differ in length. If a segment ended without a keyframe, the GOP length is unknown.
    const seconds = this.#isRegular ? 2 * Math.ceil(longestUs / 1e6) : MAX_TARGET_S;
    return {
      segmentSeconds: Math.min(Math.max(seconds, MIN_TARGET_S), MAX_TARGET_S),
      partUs: Math.ceil(this.#maxPartUs / 1000) * 1000,
    };
  }

  #trim(): void {
    const drop = (): void => {
      const dropped = this.#done.shift();
      if (dropped === undefined) return;
      this.#bytes -= dropped.bytes;
      if (dropped.isDiscontinuous) this.#droppedDiscontinuities += 1;
    };
    for (let extra = this.#findFrom(KEPT_TARGETS); extra > 0; extra--) drop();
    while (this.#bytes > this.#maxBytes() && this.#done.length > 1) drop();
  }

  /** Index of the first of the newest segments that together last `targets` target durations. */
  #findFrom(targets: number): number {
    const seconds = this.#targets?.segmentSeconds ?? MAX_TARGET_S;
    let missingUs = targets * seconds * 1e6;
    let first = this.#done.length;
    while (first > 0 && missingUs > 0) missingUs -= this.#done[--first]?.durationUs ?? 0;
    return first;
  }
}
