/**
 * The newest segments of a stream, made of parts, the last of them perhaps still growing. What is too old or too much
 * goes. Playlists are written from it, files answered out of it.
 */
import type { Tracks } from "../../media/access-unit.ts";
import type { Fragment } from "../../media/mp4/fragmenter.ts";

export interface Part {
  readonly number: number;
  readonly data: Buffer;
  readonly durationUs: number;
  /** Decoding may begin in it. */
  readonly hasKey: boolean;
}

/** What decoders must know first; another one when the tracks change. */
export interface InitSegment {
  readonly number: number;
  readonly data: Buffer;
  readonly tracks: Tracks;
}

export interface Segment {
  /** Its media sequence number. */
  readonly number: number;
  readonly init: InitSegment;
  /** Other tracks than those of the segment before it. */
  readonly isDiscontinuous: boolean;
  readonly captureMs: number;
  readonly parts: readonly Part[];
  readonly durationUs: number;
  readonly bytes: number;
}

/** Promised in every playlist, and never changed. */
export interface Targets {
  readonly segmentSeconds: number;
  readonly partUs: number;
}

type Growing = { -readonly [K in keyof Segment]: Segment[K] } & { parts: Part[] };

/**
 * Six pictures at 30 a second or five at 25 are 0.2 s; what times lose on their way by being rounded must fit too, and
 * parts shorter than 85 % of the target are not allowed.
 */
const PART_US = 220_000;
const SHORTEST_TARGET_S = 4;
const LONGEST_TARGET_S = 12;
/** For a viewer who waits for the first segment, which the stream's own pace would give too late. */
const HURRIED_US = 4_000_000;
/** Listed, and kept for those who have an older playlist: in target durations. */
const LISTED_TARGETS = 3;
const KEPT_TARGETS = 2 * LISTED_TARGETS;

export class Window {
  /** In the name of every file, so that no cache takes one of an earlier window for it. */
  readonly name: string;
  readonly #mostBytes: () => number;
  #done: Segment[] = [];
  #growing: Growing | null = null;
  #init: InitSegment | null = null;
  #nextSegment: number;
  #nextPart = 0;
  #bytes = 0;
  #targets: Targets | null = null;
  #lostDiscontinuities = 0;
  #longestPartUs = PART_US;
  /** Every segment has ended before a key picture. */
  #isRegular = true;
  #isEnded = false;
  /** Somebody waits for the first playlist. */
  isWanted = false;

  /** `firstNumber`: higher than every one that an earlier window of this stream gave. */
  constructor(firstNumber: number, mostBytes: () => number) {
    this.name = firstNumber.toString(36);
    this.#nextSegment = firstNumber;
    this.#mostBytes = mostBytes;
  }

  get init(): InitSegment | null {
    return this.#init;
  }

  get growing(): Segment | null {
    return this.#growing;
  }

  /** The number of the segment that is growing, or will next. */
  get growingNumber(): number {
    return this.#growing?.number ?? this.#nextSegment;
  }

  /** The part that comes next has this number. */
  get nextPart(): number {
    return this.#nextPart;
  }

  /** Nothing more comes. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** There is something to list. */
  get isReady(): boolean {
    return this.#done.length > 0;
  }

  /** A segment must not become longer. */
  get longestSegmentUs(): number {
    if (this.#targets !== null) return this.#targets.segmentSeconds * 1e6;
    return this.isWanted && !this.isReady ? HURRIED_US : LONGEST_TARGET_S * 1e6;
  }

  get longestPartUs(): number {
    return this.#targets?.partUs ?? PART_US;
  }

  /** Nor larger: some must be left to list. */
  get largestSegmentBytes(): number {
    return this.#mostBytes() / 8;
  }

  /** Bits a second, of the segment that has the most. */
  get peakBitrate(): number {
    const segments = this.#growing === null ? this.#done : [...this.#done, this.#growing];
    const rates = segments.map(({ bytes, durationUs }) => (durationUs === 0 ? 0 : (bytes * 8e6) / durationUs));
    return Math.ceil(Math.max(0, ...rates));
  }

  /** Of when they are first asked for: from then on they are kept. */
  get targets(): Targets {
    this.#targets ??= this.#promise();
    return this.#targets;
  }

  /** Those that are whole and listed, the oldest first. */
  listed(): readonly Segment[] {
    const first = this.#findFrom(LISTED_TARGETS);
    return this.#done.slice(first);
  }

  /** Discontinuities before the first one that is listed. */
  countDiscontinuities(): number {
    const unlisted = this.#done.slice(0, this.#findFrom(LISTED_TARGETS));
    return this.#lostDiscontinuities + unlisted.filter(({ isDiscontinuous }) => isDiscontinuous).length;
  }

  findSegment(number: number): Segment | null {
    return this.#done.find((segment) => segment.number === number) ?? null;
  }

  findPart(number: number): Part | null {
    const segments = this.#growing === null ? this.#done : [...this.#done, this.#growing];
    for (const { parts } of segments) {
      const found = parts[number - (parts[0]?.number ?? 0)];
      if (found?.number === number) return found;
    }
    return null;
  }

  findInit(number: number): InitSegment | null {
    const inits = [this.#init, ...this.#done.map(({ init }) => init)];
    return inits.find((init) => init?.number === number) ?? null;
  }

  /** What comes now is made so; the segment before it must have ended. */
  setInit(data: Buffer, tracks: Tracks): void {
    this.#init = { number: (this.#init?.number ?? -1) + 1, data, tracks };
  }

  /** `captureMs`: of its first picture. */
  addPart({ data, durationUs, hasKey }: Fragment, captureMs: number): void {
    if (this.#init === null) return;
    const growing = this.#growing ?? this.#beginSegment(this.#init, captureMs);
    growing.parts.push({ number: this.#nextPart++, data, durationUs, hasKey });
    growing.durationUs += durationUs;
    growing.bytes += data.length;
    this.#bytes += data.length;
    this.#longestPartUs = Math.max(this.#longestPartUs, durationUs);
  }

  endSegment(isBeforeKey: boolean): void {
    if (this.#growing === null) return;
    this.#done.push(this.#growing);
    this.#growing = null;
    this.#isRegular &&= isBeforeKey;
    this.#trim();
  }

  end(): void {
    this.endSegment(true);
    this.#isEnded = true;
  }

  #beginSegment(init: InitSegment, captureMs: number): Growing {
    const before = this.#done.at(-1);
    const isDiscontinuous = before !== undefined && before.init !== init;
    const number = this.#nextSegment++;
    this.#growing = { number, init, isDiscontinuous, captureMs, parts: [], durationUs: 0, bytes: 0 };
    return this.#growing;
  }

  #promise(): Targets {
    const longestUs = Math.max(0, ...this.#done.map(({ durationUs }) => durationUs));
    // Twice what was seen: not every group of pictures is as long as the first. Where none has ended yet, anything can come.
    const seconds = this.#isRegular ? 2 * Math.ceil(longestUs / 1e6) : LONGEST_TARGET_S;
    return {
      segmentSeconds: Math.min(Math.max(seconds, SHORTEST_TARGET_S), LONGEST_TARGET_S),
      partUs: Math.ceil(this.#longestPartUs / 1000) * 1000,
    };
  }

  #trim(): void {
    const drop = (): void => {
      const gone = this.#done.shift();
      if (gone === undefined) return;
      this.#bytes -= gone.bytes;
      if (gone.isDiscontinuous) this.#lostDiscontinuities += 1;
    };
    for (let extra = this.#findFrom(KEPT_TARGETS); extra > 0; extra--) drop();
    while (this.#bytes > this.#mostBytes() && this.#done.length > 1) drop();
  }

  /** The first of the fewest newest segments that last so many target durations together. */
  #findFrom(targets: number): number {
    const seconds = this.#targets?.segmentSeconds ?? LONGEST_TARGET_S;
    let missingUs = targets * seconds * 1e6;
    let first = this.#done.length;
    while (first > 0 && missingUs > 0) missingUs -= this.#done[--first]?.durationUs ?? 0;
    return first;
  }
}
