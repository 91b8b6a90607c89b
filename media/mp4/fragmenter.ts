/** Makes fragments of units. Whoever feeds it says when one is to end: it ends before the unit that came last. */
import { NAL, nalType } from "../h264/nal.ts";
import type { Tracks, Unit } from "../unit.ts";
import { type Sample, writeFragment } from "./fragment.ts";
import { Lane } from "./lane.ts";
import { audioScale, toTicks, toUs, VIDEO_SCALE } from "./timing.ts";

export interface Fragment {
  /** `moof` and `mdat`. */
  readonly data: Buffer;
  /** When its first picture is decoded, from the beginning of the file; without a picture: its first sound. */
  readonly startUs: number;
  readonly durationUs: number;
  /** When the last of it has been shown and heard. */
  readonly endUs: number;
  /** Decoding may begin with it. */
  readonly isKey: boolean;
  /** Decoding may begin in it. */
  readonly hasKey: boolean;
  readonly pictures: number;
}

export interface FragmenterOptions {
  /** Of the units: where the file begins. What is decoded before is left out. */
  readonly zeroUs?: number;
  /** A sample that would last longer is followed by a gap instead. */
  readonly longestUs?: number;
}

/** AAC has so many samples in a frame nearly always. */
const FRAME_SAMPLES = 1024;
/** Times of audio that were milliseconds on their way are off by one, and then some. */
const SNAP_US = 5000;
const USUAL_PICTURE_US = 33_333;

export class Fragmenter {
  readonly #tracks: Tracks;
  readonly #zeroUs: number;
  readonly #video: Lane;
  readonly #audio: Lane | null;
  #sequence = 1;
  #bytes = 0;

  constructor(tracks: Tracks, { zeroUs = 0, longestUs = Number.MAX_SAFE_INTEGER }: FragmenterOptions = {}) {
    this.#tracks = tracks;
    this.#zeroUs = zeroUs;
    const longestTicks = (scale: number) => Math.min(toTicks(longestUs, scale), 2 ** 31);
    this.#video = new Lane({
      scale: VIDEO_SCALE,
      usualTicks: toTicks(USUAL_PICTURE_US, VIDEO_SCALE),
      snapTicks: 0,
      longestTicks: longestTicks(VIDEO_SCALE),
    });
    if (tracks.audio === null) {
      this.#audio = null;
      return;
    }
    const scale = audioScale(tracks.audio);
    this.#audio = new Lane({
      scale,
      usualTicks: FRAME_SAMPLES,
      snapTicks: toTicks(SNAP_US, scale),
      longestTicks: longestTicks(scale),
    });
  }

  /** What the pictures that would be cut now last. */
  get readyUs(): number {
    return toUs(this.#video.readyTicks, VIDEO_SCALE);
  }

  /** The same of the sound. */
  get readySoundUs(): number {
    return this.#audio === null ? 0 : toUs(this.#audio.readyTicks, this.#audioScale());
  }

  /** What the picture that came last will probably last. */
  get stepUs(): number {
    return toUs(this.#video.stepTicks, VIDEO_SCALE);
  }

  /** Of what is held. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#video.isEmpty && (this.#audio?.isEmpty ?? true);
  }

  /** On the units' time line: where the next frame of sound should begin. Null where there has been none. */
  get nextSoundUs(): number | null {
    const ticks = this.#audio?.nextTicks ?? null;
    return ticks === null ? null : toUs(ticks, this.#audioScale()) + this.#zeroUs;
  }

  add(unit: Unit): void {
    if (unit.dtsUs < this.#zeroUs) return;
    const { kind, parts } = unit;
    if (kind === "audio" && this.#audio === null) return;
    const kept = kind === "audio" ? parts : this.#leaveOutKnown(parts);
    for (const { length } of kept) this.#bytes += length;
    (kind === "audio" ? this.#audio : this.#video)?.add(unit, kept, this.#zeroUs);
  }

  /** Everything before the last picture, or so many pictures more, and the last sound; null where that is nothing. */
  cut(pictures = 0): Fragment | null {
    const video = this.#video.take(pictures);
    const audio = this.#audio?.take() ?? [];
    const first = video[0] ?? audio[0];
    if (first === undefined) return null;
    const data = writeFragment(this.#sequence++, video, audio);
    const scale = video.length > 0 ? VIDEO_SCALE : this.#audioScale();
    const ticks = (video.length > 0 ? video : audio).reduce((sum, { duration }) => sum + duration, 0);
    this.#bytes -= countBytes(video) + countBytes(audio);
    return {
      data,
      startUs: toUs(first.time, scale),
      durationUs: toUs(ticks, scale),
      endUs: Math.max(toUs(endOf(video), VIDEO_SCALE), toUs(endOf(audio), this.#audioScale())),
      isKey: video[0]?.isKey ?? false,
      hasKey: video.some(({ isKey }) => isKey),
      pictures: video.length,
    };
  }

  /** Everything before this picture, which belongs to another file. Nothing may be added after it. */
  finish(next: Unit): Fragment | null {
    this.add(next);
    this.#audio?.settle();
    return this.cut();
  }

  /** Everything: nothing came for a while, or nothing more comes. */
  drain(): Fragment | null {
    this.#video.settle();
    this.#audio?.settle();
    return this.cut();
  }

  /** The SPS and the PPS of the track are in its description already. */
  #leaveOutKnown(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    const { sps, pps } = this.#tracks.video;
    const isKnown = (nal: Uint8Array) => {
      const type = nalType(nal);
      if (type !== NAL.sps && type !== NAL.pps) return false;
      return Buffer.compare(nal, type === NAL.sps ? sps : pps) === 0;
    };
    return parts.some(isKnown) ? parts.filter((nal) => !isKnown(nal)) : parts;
  }

  #audioScale(): number {
    return this.#tracks.audio === null ? 1 : audioScale(this.#tracks.audio);
  }
}

const countBytes = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { parts }) => parts.reduce((bytes, { length }) => bytes + length, sum), 0);

const endOf = (samples: readonly Sample[]): number =>
  samples.reduce((end, { time, offset, duration }) => Math.max(end, time + offset + duration), 0);
