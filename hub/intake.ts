/**
 * Makes units of what a publisher sends, whatever it sends: knows its SPS and PPS, begins with the first key picture,
 * leaves out what no reader needs, and makes the times fit. What cannot be mended is an `IntakeFault`.
 */

import { type AudioTrack, MediaError, type VideoTrack } from "../media/access-unit.ts";
import { hasRecoveryPoint, isBidirectional, NAL, nalType } from "../media/h264/nal.ts";
import { ParameterSets } from "./parameter-sets.ts";
import type { Publication } from "./streams.ts";
import { TimeLine } from "./time-line.ts";

/** The publisher must go. The message is fit to be told to it. */
export class IntakeFault extends Error {}

export interface Picture {
  /** By the publisher's clock, which may begin anywhere. Null where it does not tell. */
  readonly ptsUs: number | null;
  readonly dtsUs: number | null;
  /** Unix time. Null: now. */
  readonly captureMs: number | null;
  /** One whole picture, without start codes. */
  readonly nals: readonly Uint8Array[];
}

export interface Sound {
  readonly ptsUs: number | null;
  readonly captureMs: number | null;
  readonly frame: Uint8Array;
}

const MOST_PARTS = 4096;
/** A publisher's clock that is further off tells nothing. */
const MOST_CLOCK_ERROR_MS = 3_600_000;

export class Intake {
  readonly #publication: Publication;
  readonly #unitBytes: number;
  readonly #now: () => number;
  readonly #times = new TimeLine();
  readonly #sets = new ParameterSets();
  #audio: AudioTrack | null = null;
  /** As readers were told of it. */
  #video: VideoTrack | null = null;

  /** `now`: a clock in milliseconds that only goes forward. */
  constructor(publication: Publication, limits: { readonly unitBytes: number }, now = () => performance.now()) {
    this.#publication = publication;
    this.#unitBytes = limits.unitBytes;
    this.#now = now;
  }

  /** SPS and PPS that are told apart from the pictures: by an SDP, by FLV. Also more than once. Throws an `IntakeFault`. */
  setVideo(...sets: readonly Uint8Array[]): void {
    for (const set of sets) this.#keep(set);
  }

  setAudio(track: AudioTrack | null): void {
    if (this.#audio !== null && track !== null && Buffer.compare(this.#audio.config, track.config) === 0) return;
    if (this.#audio === null && track === null) return;
    this.#audio = track;
    if (this.#video !== null) this.#publication.begin({ video: this.#video, audio: track });
  }

  /** Throws an `IntakeFault`. */
  picture({ ptsUs, dtsUs, captureMs, nals }: Picture): void {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let firstSlice: Uint8Array | null = null;
    let isKey = false;
    let isB = false;
    for (const nal of nals) {
      bytes += nal.length;
      if (bytes > this.#unitBytes) throw new IntakeFault(`a picture of more than ${this.#unitBytes} bytes`);
      const type = nalType(nal);
      if (type === NAL.sps || type === NAL.pps) this.#keep(nal);
      else if (type === NAL.sei) isKey ||= hasRecoveryPoint(nal);
      else if (type >= NAL.slice && type <= NAL.idr) {
        isKey ||= type === NAL.idr;
        if (firstSlice === null) isB = isBidirectional(nal);
        firstSlice ??= nal;
      } else continue;
      if (parts.length === MOST_PARTS) throw new IntakeFault(`a picture of more than ${MOST_PARTS} NAL units`);
      parts.push(nal);
    }
    if (firstSlice === null) return;
    this.#publication.heard();
    if (isKey) this.#sets.use(firstSlice);
    if (!this.#isReady(isKey)) return;
    if (this.#sets.isNew) this.#times.setDepth(this.#sets.reorderFrames ?? 0);
    const times = this.#times.picture(ptsUs, dtsUs, isB, this.#now() * 1000);
    if (isKey) this.#tellTracks();
    this.#publication.write({
      kind: "video",
      ...times,
      captureMs: believe(captureMs),
      isKey,
      parts: isKey ? this.#sets.putFirst(parts) : parts,
    });
  }

  /** Throws an `IntakeFault`. */
  sound({ ptsUs, captureMs, frame }: Sound): void {
    if (frame.length > this.#unitBytes) throw new IntakeFault(`a frame of sound of more than ${this.#unitBytes} bytes`);
    if (this.#video === null || this.#audio === null || frame.length === 0) return;
    const times = this.#times.sound(ptsUs, this.#now() * 1000);
    if (times === null) return;
    this.#publication.write({ kind: "audio", ...times, captureMs: believe(captureMs), isKey: true, parts: [frame] });
  }

  close(reason: string): void {
    this.#publication.close(reason);
  }

  #isReady(isKey: boolean): boolean {
    if (isKey) return this.#sets.isComplete;
    // The pictures of another SPS cannot be decoded before the next key picture.
    return this.#video !== null && !this.#sets.isNew;
  }

  #tellTracks(): void {
    const reorders = this.#times.depth > 0;
    if (this.#video !== null && !this.#sets.isNew && this.#video.reorders === reorders) return;
    this.#video = this.#sets.settle(reorders);
    this.#publication.begin({ video: this.#video, audio: this.#audio });
  }

  #keep(set: Uint8Array): void {
    try {
      this.#sets.keep(set);
    } catch (error) {
      if (error instanceof MediaError) throw new IntakeFault(error.message, { cause: error });
      throw error;
    }
  }
}

function believe(captureMs: number | null): number {
  const now = Date.now();
  return captureMs !== null && Math.abs(captureMs - now) < MOST_CLOCK_ERROR_MS ? captureMs : now;
}
