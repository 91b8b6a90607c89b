/**
 * Builds fragments from access units. The caller decides when a fragment ends: it then contains everything before the
 * latest access unit, whose duration is not known yet.
 */
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { codecOf, isParameterSet } from "../codecs.ts";
import { type Sample, writeFragment } from "./fragment.ts";
import { audioScale, toTicks, toUs, VIDEO_SCALE } from "./init-segment.ts";
import { writeKlvEvent } from "./klv-event.ts";

export interface Fragment {
  /** Metadata (`emsg`), `moof` and `mdat`. */
  readonly data: Buffer;
  /** Bytes before the `moof`. */
  readonly eventBytes: number;
  /** DTS of its first picture, from the start of the file; without a picture: of its first audio frame. */
  readonly startUs: number;
  readonly durationUs: number;
  /** When its last video and audio have been presented. */
  readonly endUs: number;
  /** It starts with a keyframe. */
  readonly isKey: boolean;
  /** It contains a keyframe. */
  readonly hasKey: boolean;
  readonly pictures: number;
}

export interface FragmenterOptions {
  /** Position of the file's start on the timeline of the access units. Earlier ones are dropped. */
  readonly zeroUs?: number;
  /** A sample that would last longer is followed by a gap instead. */
  readonly maxSampleUs?: number;
}

/** Samples per AAC frame, nearly always. */
const FRAME_SAMPLES = 1024;
/** Audio timestamps that were milliseconds on the wire are off by a little more than one. */
const SNAP_US = 5000;
const DEFAULT_FRAME_US = 33_333;

export class Fragmenter {
  readonly #tracks: Tracks;
  readonly #zeroUs: number;
  readonly #video: Lane;
  readonly #audio: Lane | null;
  readonly #audioScale: number;
  #sequence = 1;
  #events = 0;
  #bytes = 0;

  constructor(tracks: Tracks, { zeroUs = 0, maxSampleUs = Number.MAX_SAFE_INTEGER }: FragmenterOptions = {}) {
    this.#tracks = tracks;
    this.#zeroUs = zeroUs;
    this.#audioScale = tracks.audio === null ? 1 : audioScale(tracks.audio);
    const maxTicks = (scale: number) => Math.min(toTicks(maxSampleUs, scale), 2 ** 31);
    this.#video = new Lane({
      scale: VIDEO_SCALE,
      defaultTicks: toTicks(DEFAULT_FRAME_US, VIDEO_SCALE),
      snapTicks: 0,
      maxTicks: maxTicks(VIDEO_SCALE),
    });
    this.#audio =
      tracks.audio === null
        ? null
        : new Lane({
            scale: this.#audioScale,
            defaultTicks: FRAME_SAMPLES,
            snapTicks: toTicks(SNAP_US, this.#audioScale),
            maxTicks: maxTicks(this.#audioScale),
          });
  }

  /** Duration of the video that `cut` would return now. */
  get readyUs(): number {
    return toUs(this.#video.readyTicks, VIDEO_SCALE);
  }

  /** Duration of the audio that `cut` would return now. */
  get readyAudioUs(): number {
    return toUs(this.#audio?.readyTicks ?? 0, this.#audioScale);
  }

  /** Estimated duration of the latest picture. */
  get stepUs(): number {
    return toUs(this.#video.stepTicks, VIDEO_SCALE);
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#video.isEmpty && (this.#audio?.isEmpty ?? true);
  }

  /** Where the next audio frame should start, on the timeline of the access units. Null before the first. */
  get nextAudioUs(): number | null {
    const ticks = this.#audio?.nextTicks ?? null;
    return ticks === null ? null : toUs(ticks, this.#audioScale) + this.#zeroUs;
  }

  add(unit: AccessUnit): void {
    if (unit.dtsUs < this.#zeroUs) return;
    const lane = unit.kind === "audio" ? this.#audio : this.#video;
    if (lane === null) return;
    const parts = unit.kind === "audio" ? unit.parts : this.#removeKnownSets(unit.parts);
    for (const { length } of parts) this.#bytes += length;
    for (const { data } of unit.klv ?? []) this.#bytes += data.length;
    lane.add(unit, parts, this.#zeroUs);
  }

  /** Returns everything before the last picture, less `keepPictures` more, and before the last audio frame. Null if empty. */
  cut(keepPictures = 0): Fragment | null {
    const video = this.#video.take(keepPictures);
    const audio = this.#audio?.take() ?? [];
    const first = video[0] ?? audio[0];
    if (first === undefined) return null;
    const events = this.#writeEvents(video);
    const fragment = writeFragment(this.#sequence++, video, audio);
    const scale = video.length > 0 ? VIDEO_SCALE : this.#audioScale;
    const ticks = (video.length > 0 ? video : audio).reduce((sum, { duration }) => sum + duration, 0);
    this.#bytes -= countBytes(video) + countBytes(audio);
    return {
      data: events.length === 0 ? fragment : Buffer.concat([events, fragment]),
      eventBytes: events.length,
      startUs: toUs(first.time, scale),
      durationUs: toUs(ticks, scale),
      endUs: Math.max(toUs(endOf(video), VIDEO_SCALE), toUs(endOf(audio), this.#audioScale)),
      isKey: video[0]?.isKey ?? false,
      hasKey: video.some(({ isKey }) => isKey),
      pictures: video.length,
    };
  }

  #writeEvents(video: readonly Sample[]): Buffer {
    const { klv: carriage } = this.#tracks;
    const units = carriage === undefined ? [] : video.flatMap(({ klv = [] }) => klv);
    return Buffer.concat(
      units.map(({ ptsUs, data }) =>
        writeKlvEvent(this.#events++, { ptsUs: ptsUs - this.#zeroUs, data, carriage: carriage ?? "asynchronous" }),
      ),
    );
  }

  /** Returns everything before this picture, which belongs to the next file. Nothing may be added afterwards. */
  finish(next: AccessUnit): Fragment | null {
    this.add(next);
    this.#audio?.settle();
    return this.cut();
  }

  /** Returns everything: input has paused or ended. */
  drain(): Fragment | null {
    this.#video.settle();
    this.#audio?.settle();
    return this.cut();
  }

  /** The track's parameter sets are in the init segment already. */
  #removeKnownSets(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    const { video } = this.#tracks;
    const codec = codecOf(video);
    const isKnown = (nal: Uint8Array) =>
      isParameterSet(codec, nal) && video.sets.some((set) => Buffer.compare(nal, set) === 0);
    return parts.some(isKnown) ? parts.filter((nal) => !isKnown(nal)) : parts;
  }
}

const countBytes = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { parts, klv = [] }) => {
    const media = parts.reduce((bytes, { length }) => bytes + length, sum);
    return klv.reduce((bytes, { data }) => bytes + data.length, media);
  }, 0);

const endOf = (samples: readonly Sample[]): number =>
  samples.reduce((end, { time, offset, duration }) => Math.max(end, time + offset + duration), 0);

interface LaneOptions {
  readonly scale: number;
  /** Sample duration before one is measured. */
  readonly defaultTicks: number;
  /** A sample this close to the expected end of the previous one is moved there, to undo rounding on the wire. */
  readonly snapTicks: number;
  /** A longer step is a gap and not a sample duration. */
  readonly maxTicks: number;
}

type PendingSample = Omit<Sample, "duration">;

/** The samples of one track. A sample's duration is known when the next one arrives, so the last one is pending. */
class Lane {
  readonly #options: LaneOptions;
  #ready: Sample[] = [];
  #readyTicks = 0;
  #pending: PendingSample | null = null;
  #lastTime: number | null = null;
  #step: number;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#step = options.defaultTicks;
  }

  /** Total duration of the ready samples. */
  get readyTicks(): number {
    return this.#readyTicks;
  }

  /** Estimated duration of the pending sample. */
  get stepTicks(): number {
    return this.#step;
  }

  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#pending === null;
  }

  /** Expected time of the next sample; null before the first. */
  get nextTicks(): number | null {
    return this.#lastTime === null ? null : this.#lastTime + this.#step;
  }

  add(unit: AccessUnit, parts: readonly Uint8Array[], zeroUs: number): void {
    const { scale, snapTicks, defaultTicks, maxTicks } = this.#options;
    const stated = toTicks(unit.dtsUs - zeroUs, scale);
    const last = this.#lastTime;
    const expected = last === null ? stated : last + defaultTicks;
    const snapped = Math.abs(stated - expected) <= snapTicks ? expected : stated;
    // Rounding can make two times equal.
    const time = last === null ? snapped : Math.max(snapped, last + 1);
    if (last !== null && time - last <= maxTicks) this.#step = time - last;
    this.settle();
    const offset = Math.max(toTicks(unit.ptsUs - zeroUs, scale) - stated, 0);
    this.#pending = { time, offset, isKey: unit.isKey, parts, klv: unit.klv };
    this.#lastTime = time;
  }

  /** Returns the ready samples except the newest `keep`. */
  take(keep = 0): readonly Sample[] {
    const samples = this.#ready.splice(0, Math.max(this.#ready.length - keep, 0));
    this.#readyTicks = this.#ready.reduce((sum, { duration }) => sum + duration, 0);
    return samples;
  }

  /** Makes the pending sample ready, with its estimated duration. */
  settle(): void {
    if (this.#pending === null) return;
    this.#ready.push({ ...this.#pending, duration: this.#step });
    this.#readyTicks += this.#step;
    this.#pending = null;
  }
}
