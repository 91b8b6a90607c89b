/**
 * Records a stream: fragmented MP4 in files that begin with key pictures, written in fragments of half a second, so that
 * a crash at any moment costs less than a second. A disk that is too slow costs pictures, never the stream.
 */

import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { Fragmenter } from "../../media/mp4/fragmenter.ts";
import { describeFault, guardBy } from "../guard.ts";
import type { Log } from "../log.ts";
import type { Reader } from "../streams.ts";
import { Disk } from "./disk.ts";
import { type RecordingMessage, type SegmentStart, Writer } from "./writer.ts";

export interface RecorderOptions {
  /** Its name, which becomes that of its folder. */
  readonly recording: string;
  /** Of the stream. */
  readonly path: string;
  /** Of all recordings: `<folder>/<recording>/<index>.mp4`. */
  readonly folder: string;
  readonly segmentSeconds: number;
  readonly reserveBytes: number;
  /** Bytes that may wait for the disk. */
  readonly readerBytes: number;
  readonly tell: (message: RecordingMessage) => void;
  readonly log: Log;
}

const FRAGMENT_US = 500_000;
/** A key picture begins a fragment, so that one can seek to it, if the last one that did is so long ago. */
const KEY_FRAGMENT_US = 250_000;
/** Sound alone ends a fragment: there are no pictures. */
const SOUND_FRAGMENT_US = 900_000;
/** What has been held for so long is written, even if its duration is not known yet. */
const HOLD_MS = 700;
const HOLD_CHECK_MS = 150;
/** Sound that comes later than its pictures by more is lost where a new file begins. */
const LATE_SOUND_US = 1_000_000;
const NAME = /^[A-Za-z0-9_-]+$/;

export class Recorder implements Reader {
  readonly #options: RecorderOptions;
  readonly #writer: Writer;
  readonly #holdTimer: NodeJS.Timeout;
  #tracks: Tracks | null = null;
  #fragmenter: Fragmenter | null = null;
  /** Of the file that is being made; null once its first fragment has been given away. */
  #start: SegmentStart | null = null;
  #segmentUs = 0;
  /** Of the picture that the last fragment to begin with a key picture began with. */
  #keyUs = 0;
  #heldSince = 0;
  #waitsForKey = true;
  #missed = 0;
  #missedTold = 0;
  #isOver = false;

  /** Throws where the name could lead out of the folder. */
  constructor(options: RecorderOptions) {
    if (!NAME.test(options.recording)) throw new Error(`a recording cannot be called ${options.recording}`);
    this.#options = options;
    const disk = new Disk(options.folder, options.reserveBytes);
    this.#writer = new Writer({ ...options, disk });
    const guard = guardBy((error) => {
      options.log("error", "a recording failed", { path: options.path, error: describeFault(error) });
      this.stop("a fault of the media server");
    });
    this.#holdTimer = setInterval(
      guard(() => this.#letHeldGo()),
      HOLD_CHECK_MS,
    );
    this.#holdTimer.unref();
  }

  /** Pictures that the disk was too slow for. */
  get missed(): number {
    return this.#missed;
  }

  /** Everything is on the disk and told. */
  get done(): Promise<void> {
    return this.#writer.done;
  }

  begin(tracks: Tracks): void {
    this.#give(this.#fragmenter?.drain() ?? null);
    this.#fragmenter = null;
    this.#tracks = tracks;
    this.#waitsForKey = true;
  }

  take(unit: AccessUnit): void {
    if (this.#isOver || this.#tracks === null) return;
    if (this.#writer.failure !== null) {
      this.stop(this.#writer.failure);
      return;
    }
    if (unit.kind === "video" ? !this.#admitPicture(unit, this.#tracks) : this.#waitsForKey) return;
    const fragmenter = this.#fragmenter;
    if (fragmenter === null) return;
    if (fragmenter.isEmpty) this.#heldSince = performance.now();
    fragmenter.add(unit);
    if (!this.#isDue(unit, fragmenter)) return;
    this.#heldSince = performance.now();
    this.#give(fragmenter.cut());
  }

  end(): void {
    this.stop(null);
  }

  /** `detail`: why, if not because its stream stopped. */
  stop(detail: string | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#holdTimer);
    this.#give(this.#fragmenter?.drain() ?? null);
    this.#fragmenter = null;
    this.#tellMissed();
    this.#writer.end(detail);
  }

  /** False: it is left out. */
  #admitPicture(unit: AccessUnit, tracks: Tracks): boolean {
    if (this.#waitsForKey) {
      const isReady = unit.isKey && this.#writer.waitingBytes <= this.#options.readerBytes / 2;
      if (!isReady) {
        if (this.#fragmenter !== null) this.#missed += 1;
        return false;
      }
      this.#waitsForKey = false;
      this.#tellMissed();
    }
    const isFull = unit.dtsUs - this.#segmentUs >= this.#options.segmentSeconds * 1e6;
    if (this.#fragmenter === null || (unit.isKey && isFull)) this.#beginSegment(unit, tracks);
    return true;
  }

  #isDue(unit: AccessUnit, { readyUs, readyAudioUs }: Fragmenter): boolean {
    if (unit.kind === "video" && unit.isKey && unit.dtsUs - this.#keyUs >= KEY_FRAGMENT_US) {
      this.#keyUs = unit.dtsUs;
      return true;
    }
    return readyUs >= FRAGMENT_US || readyAudioUs >= SOUND_FRAGMENT_US;
  }

  #beginSegment(key: AccessUnit, tracks: Tracks): void {
    const before = this.#fragmenter;
    this.#give(before?.finish(key) ?? null);
    const nextAudioUs = before?.nextAudioUs ?? key.dtsUs;
    const zeroUs = Math.min(key.dtsUs, Math.max(nextAudioUs, key.dtsUs - LATE_SOUND_US));
    this.#fragmenter = new Fragmenter(tracks, { zeroUs });
    // The file begins before its first picture is shown: where pictures are reordered, or sound comes first.
    this.#start = { tracks, startedAtMs: Math.round(key.captureMs - (key.ptsUs - zeroUs) / 1000) };
    this.#segmentUs = key.dtsUs;
    this.#keyUs = key.dtsUs;
  }

  #give(fragment: ReturnType<Fragmenter["cut"]>): void {
    if (fragment === null) return;
    this.#writer.write(fragment, this.#start);
    this.#start = null;
    if (this.#writer.waitingBytes > this.#options.readerBytes) this.#waitsForKey = true;
  }

  #letHeldGo(): void {
    if (this.#fragmenter === null || this.#fragmenter.isEmpty) return;
    if (performance.now() - this.#heldSince >= HOLD_MS) this.#give(this.#fragmenter.drain());
  }

  #tellMissed(): void {
    if (this.#missed === this.#missedTold) return;
    this.#options.log("warn", "the disk is too slow: pictures are missing in a recording", {
      path: this.#options.path,
      recording: this.#options.recording,
      pictures: this.#missed - this.#missedTold,
    });
    this.#missedTold = this.#missed;
  }
}
