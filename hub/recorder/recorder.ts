/**
 * Records a stream as fragmented MP4: files start with a keyframe, fragments last half a second, so that a crash loses less
 * than a second. A slow disk loses pictures and never blocks the stream.
 */
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { type Fragment, Fragmenter } from "../../media/mp4/fragmenter.ts";
import { describeBug, guardBy, INTERNAL_ERROR } from "../errors.ts";
import type { Reader } from "../live-stream.ts";
import { type RecorderOptions, type SegmentStart, Writer } from "./writer.ts";

const FRAGMENT_US = 500_000;
/** A keyframe starts a fragment, to seek to, if the last one that did is this old. */
const KEY_FRAGMENT_US = 250_000;
/** Ends a fragment if there is only audio. */
const AUDIO_FRAGMENT_US = 900_000;
/** Units held this long are written, even if the duration of the last one is not known. */
const HOLD_MS = 700;
const HOLD_CHECK_MS = 150;
/** Audio later than its pictures by more is lost at the start of a new file. */
const LATE_AUDIO_US = 1_000_000;
/** Arrival times, of cameras that report no capture times, vary by less. */
const CLOCK_STEP_MS = 250;
/** A clock that stays this steady over this number of pictures is exact: the camera reports it, after its first pictures. */
const STEADY = { withinMs: 5, pictures: 10, stepMs: 20 };
const NAME = /^[A-Za-z0-9_-]+$/;

export class Recorder implements Reader {
  /** Pictures that the disk was too slow for. */
  missed = 0;
  /** Of further files. */
  segmentSeconds: number;
  /** Resolves when everything is written and reported. */
  readonly done: Promise<void>;
  readonly #options: RecorderOptions;
  readonly #writer: Writer;
  readonly #holdTimer: NodeJS.Timeout;
  #tracks: Tracks | null = null;
  #fragmenter: Fragmenter | null = null;
  /** Of the current file; null once its first fragment is queued. */
  #start: SegmentStart | null = null;
  #segmentUs = 0;
  /** Unix time at time 0 of the stream, by the first picture of the current file. */
  #clockMs = 0;
  /** The same by recent pictures, and how many of them agree. */
  #recent = { clockMs: 0, pictures: 0 };
  /** DTS of the last keyframe that started a fragment. */
  #keyUs = 0;
  #heldSinceMs = 0;
  #needsKey = true;
  #loggedMissed = 0;
  #isEnded = false;

  /** Throws if the name could lead out of the folder. */
  constructor(options: RecorderOptions) {
    if (!NAME.test(options.recording)) throw new Error(`invalid recording name ${options.recording}`);
    this.#options = options;
    this.segmentSeconds = options.segmentSeconds;
    this.#writer = new Writer(options);
    this.done = this.#writer.done;
    const guard = guardBy((error) => {
      options.log("error", "recording failed", { path: options.path, error: describeBug(error) });
      this.stop(INTERNAL_ERROR);
    });
    this.#holdTimer = setInterval(
      guard(() => this.#writeHeld()),
      HOLD_CHECK_MS,
    );
    this.#holdTimer.unref();
  }

  setTracks(tracks: Tracks): void {
    this.#write(this.#fragmenter?.drain() ?? null);
    this.#fragmenter = null;
    this.#tracks = tracks;
    this.#needsKey = true;
  }

  push(unit: AccessUnit): void {
    if (this.#isEnded || this.#tracks === null) return;
    if (this.#writer.failure !== null) {
      this.stop(this.#writer.failure);
      return;
    }
    if (unit.kind === "video" ? !this.#acceptPicture(unit, this.#tracks) : this.#needsKey) return;
    const fragmenter = this.#fragmenter;
    if (fragmenter === null) return;
    if (fragmenter.isEmpty) this.#heldSinceMs = performance.now();
    fragmenter.add(unit);
    if (!this.#isDue(unit, fragmenter)) return;
    this.#heldSinceMs = performance.now();
    this.#write(fragmenter.cut());
  }

  end(): void {
    this.stop(null);
  }

  /** `detail`: the reason, unless the stream has ended. */
  stop(detail: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#holdTimer);
    this.#write(this.#fragmenter?.drain() ?? null);
    this.#fragmenter = null;
    this.#logMissed();
    this.#writer.end(detail);
  }

  /** False: the picture is dropped. */
  #acceptPicture(unit: AccessUnit, tracks: Tracks): boolean {
    if (this.#needsKey) {
      if (!unit.isKey || this.#writer.queuedBytes > this.#options.readerBytes / 2) {
        if (this.#fragmenter !== null) this.missed += 1;
        return false;
      }
      this.#needsKey = false;
      this.#logMissed();
    }
    const isFull = unit.dtsUs - this.#segmentUs >= this.segmentSeconds * 1e6;
    const isOffClock = this.#isOffClock(unit);
    if (this.#fragmenter === null || (unit.isKey && (isFull || isOffClock))) this.#startSegment(unit, tracks);
    return true;
  }

  /** The clock of the file, from its first picture on, is not that of this picture. */
  #isOffClock({ captureMs, ptsUs }: AccessUnit): boolean {
    const clockMs = captureMs - ptsUs / 1000;
    const isSteady = Math.abs(clockMs - this.#recent.clockMs) <= STEADY.withinMs;
    this.#recent = isSteady ? { ...this.#recent, pictures: this.#recent.pictures + 1 } : { clockMs, pictures: 1 };
    const stepMs = this.#recent.pictures > STEADY.pictures ? STEADY.stepMs : CLOCK_STEP_MS;
    return this.#options.followsClock === true && Math.abs(clockMs - this.#clockMs) > stepMs;
  }

  #isDue(unit: AccessUnit, { readyUs, readyAudioUs }: Fragmenter): boolean {
    if (unit.kind === "video" && unit.isKey && unit.dtsUs - this.#keyUs >= KEY_FRAGMENT_US) {
      this.#keyUs = unit.dtsUs;
      return true;
    }
    return readyUs >= FRAGMENT_US || readyAudioUs >= AUDIO_FRAGMENT_US;
  }

  #startSegment(key: AccessUnit, tracks: Tracks): void {
    const before = this.#fragmenter;
    this.#write(before?.finish(key) ?? null);
    const nextAudioUs = before?.nextAudioUs ?? key.dtsUs;
    const zeroUs = Math.min(key.dtsUs, Math.max(nextAudioUs, key.dtsUs - LATE_AUDIO_US));
    this.#fragmenter = new Fragmenter(tracks, { zeroUs });
    // With B-frames or earlier audio, the file starts before its first picture is displayed.
    this.#start = { tracks, startedAtMs: Math.round(key.captureMs - (key.ptsUs - zeroUs) / 1000) };
    this.#clockMs = key.captureMs - key.ptsUs / 1000;
    this.#segmentUs = key.dtsUs;
    this.#keyUs = key.dtsUs;
  }

  #write(fragment: Fragment | null): void {
    if (fragment === null) return;
    this.#writer.write(fragment, this.#start);
    this.#start = null;
    if (this.#writer.queuedBytes > this.#options.readerBytes) this.#needsKey = true;
  }

  #writeHeld(): void {
    if (this.#fragmenter === null || this.#fragmenter.isEmpty) return;
    if (performance.now() - this.#heldSinceMs >= HOLD_MS) this.#write(this.#fragmenter.drain());
  }

  #logMissed(): void {
    const pictures = this.missed - this.#loggedMissed;
    if (pictures === 0) return;
    this.#loggedMissed = this.missed;
    const { path, recording } = this.#options;
    this.#options.log("warn", "disk too slow: recording lost pictures", { path, recording, pictures });
  }
}
