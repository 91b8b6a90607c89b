import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { Codec } from "../media/codec.ts";
import { areSameSets, CODECS, describeTrack, findSet, findSets } from "../media/codecs.ts";
import { DtsEstimator } from "../media/h264/dts.ts";
import { splitLengths, splitStartCodes } from "../media/h264/nal.ts";

/** Of the caps of a format with lengths. */
const HAS_LENGTHS = /stream-format=\(string\)(?:avc3?|hvc1|hev1)\b/;
const CODEC_DATA = /codec_data=\(buffer\)([0-9a-f]+)/;
/** A picture displayed this long before an earlier one is not a B-frame. */
const B_BACK_US = 3_000_000;
/** The largest reorder depth of H.264 and H.265. */
const MAX_DEPTH = 16;
/** Assumed frame duration, for the first DTS of a stream with B-frames. */
const USUAL_STEP_US = 33_333;

/** Turns the buffers of encoders and cameras into access units, with parameter sets in every keyframe. */
export class AccessUnits {
  #tracks: Tracks | null = null;
  #codec: Codec = CODECS.h264;
  /** All parameter sets, as last received. */
  #sets: readonly Uint8Array[] = [];
  #waitsForKey = true;
  readonly #reorder = new DtsEstimator();
  /** PTS that becomes time 0. */
  #zeroUs: number | null = null;
  #lastDtsUs = -1;
  /** PTS of the last pictures, in arrival order. */
  #shown: readonly number[] = [];
  /** Of the lengths before NAL units; null: they have start codes. */
  #lengthSize: number | null = null;

  /** Before the first frame of each format. Throws a `MediaError` for invalid parameter sets. */
  setFormat(caps: string): void {
    this.#codec = caps.startsWith("video/x-h265") ? CODECS.h265 : CODECS.h264;
    this.#lengthSize = null;
    const config = CODEC_DATA.exec(caps)?.[1];
    if (config === undefined || !HAS_LENGTHS.test(caps)) return;
    const { lengthSize, parameterSets } = this.#codec.readConfig(Buffer.from(config, "hex"));
    this.#lengthSize = lengthSize;
    this.#readSets(parameterSets);
    this.expectKey();
  }

  /** Null until the first keyframe. Keeps a reference to `bytes`. */
  make(
    bytes: Uint8Array,
    ptsNs: bigint | null,
    captureNs: bigint,
  ): { readonly unit: AccessUnit; readonly tracks: Tracks } | null {
    const codec = this.#codec;
    const nals = this.#lengthSize === null ? splitStartCodes(bytes) : splitLengths(bytes, this.#lengthSize);
    const parts = nals.filter((nal) => codec.kindOf(nal) !== "other");
    const isKey = parts.some((nal) => codec.startsDecoding(nal));
    if (isKey) this.#readSets(parts);
    if (this.#tracks === null || (this.#waitsForKey && !isKey)) return null;
    this.#waitsForKey = false;
    const times = this.#place(ptsNs);
    const captureMs = Number(captureNs / 1000n) / 1000;
    return {
      unit: { kind: "video", ...times, captureMs, isKey, parts: this.#complete(parts, isKey) },
      tracks: this.#tracks,
    };
  }

  /** Frames were discarded: drop all until the next keyframe. */
  expectKey(): void {
    this.#waitsForKey = true;
  }

  /** Cameras, and formats with parameter sets of their own, send none with the picture. */
  #complete(parts: readonly Uint8Array[], isKey: boolean): readonly Uint8Array[] {
    if (!isKey || this.#tracks === null || parts.some((nal) => this.#codec.kindOf(nal) === "sps")) return parts;
    return [...this.#sets, ...parts.filter((nal) => !this.#isSet(nal))];
  }

  #isSet(nal: Uint8Array): boolean {
    return this.#codec.setKinds.some((kind) => kind === this.#codec.kindOf(nal));
  }

  #readSets(parts: readonly Uint8Array[]): void {
    const codec = this.#codec;
    const sets = findSets(codec, parts);
    if (sets === null) return;
    const known = this.#tracks?.video;
    if (known !== undefined && known.codec === codec.name && areSameSets(sets, known.sets)) return;
    // Copied: a view would keep the whole access unit in memory.
    this.#sets = parts.filter((nal) => this.#isSet(nal)).map((set) => set.slice());
    const copies = sets.map((set) => set.slice());
    this.#tracks = { video: describeTrack(codec, copies), audio: null };
    this.#reorder.setDepth(codec.readSet(findSet(codec, copies, "sps")).picture?.reorderFrames ?? 0);
  }

  /** Zero-based; DTS increase strictly for any input, and PTS is never before DTS. */
  #place(ptsNs: bigint | null): Pick<AccessUnit, "dtsUs" | "ptsUs"> {
    const givenUs = ptsNs === null ? null : Number(ptsNs / 1000n);
    if (givenUs !== null) this.#zeroUs ??= givenUs - this.#reorder.depth * USUAL_STEP_US;
    const shownUs = givenUs === null || this.#zeroUs === null ? this.#lastDtsUs + 1 : givenUs - this.#zeroUs;
    this.#learnDepth(shownUs);
    this.#lastDtsUs = Math.max(this.#reorder.estimate(shownUs, USUAL_STEP_US), this.#lastDtsUs + 1);
    return { dtsUs: this.#lastDtsUs, ptsUs: Math.max(shownUs, this.#lastDtsUs) };
  }

  /** Some cameras send B-frames and do not state how many. The first ones are displayed too late. */
  #learnDepth(shownUs: number): void {
    const overtaken = this.#shown.filter((otherUs) => otherUs > shownUs && otherUs - shownUs < B_BACK_US).length;
    if (overtaken > this.#reorder.depth) this.#reorder.deepen(overtaken);
    this.#shown = [...this.#shown.slice(1 - MAX_DEPTH), shownUs];
  }
}
