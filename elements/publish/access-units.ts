import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { DtsEstimator } from "../../media/h264/dts.ts";
import { hasRecoveryPoint, NAL, nalType, splitStartCodes } from "../../media/h264/nal.ts";
import { readSps } from "../../media/h264/sps.ts";

/** Players do not need them. */
const REMOVED: readonly number[] = [NAL.delimiter, NAL.filler];
/** Assumed frame duration, for the first DTS of a stream with B-frames. */
const USUAL_STEP_US = 33_333;

/** Turns the buffers of encoders and cameras into access units, with parameter sets in every keyframe. */
export class AccessUnits {
  #tracks: Tracks | null = null;
  #waitsForKey = true;
  readonly #reorder = new DtsEstimator();
  /** PTS that becomes time 0. */
  #zeroUs: number | null = null;
  #lastDtsUs = -1;

  /** Null until the first keyframe. Keeps a reference to `bytes`. */
  make(
    bytes: Uint8Array,
    ptsNs: bigint | null,
    captureNs: bigint,
  ): { readonly unit: AccessUnit; readonly tracks: Tracks } | null {
    const parts = splitStartCodes(bytes).filter((nal) => !REMOVED.includes(nalType(nal)));
    const isKey = parts.some((nal) => nalType(nal) === NAL.idr || (nalType(nal) === NAL.sei && hasRecoveryPoint(nal)));
    if (isKey) this.#readSets(parts);
    if (this.#tracks === null || (this.#waitsForKey && !isKey)) return null;
    this.#waitsForKey = false;
    const times = this.#place(ptsNs);
    const captureMs = Number(captureNs / 1000n) / 1000;
    return { unit: { kind: "video", ...times, captureMs, isKey, parts }, tracks: this.#tracks };
  }

  /** Frames were discarded: drop all until the next keyframe. */
  expectKey(): void {
    this.#waitsForKey = true;
  }

  #readSets(parts: readonly Uint8Array[]): void {
    const sps = parts.find((nal) => nalType(nal) === NAL.sps);
    const pps = parts.find((nal) => nalType(nal) === NAL.pps);
    if (sps === undefined || pps === undefined) return;
    if (this.#tracks !== null && isSame(sps, this.#tracks.video.sps) && isSame(pps, this.#tracks.video.pps)) return;
    const { width, height, reorderFrames } = readSps(sps);
    const depth = reorderFrames ?? 0;
    this.#reorder.setDepth(depth);
    // Copied: a view would keep the whole access unit in memory.
    const sets = { sps: sps.slice(), pps: pps.slice() };
    this.#tracks = { video: { codec: "h264", ...sets, width, height, reorders: depth > 0 }, audio: null };
  }

  /** Zero-based; DTS increase strictly for any input, and PTS is never before DTS. */
  #place(ptsNs: bigint | null): Pick<AccessUnit, "dtsUs" | "ptsUs"> {
    const givenUs = ptsNs === null ? null : Number(ptsNs / 1000n);
    if (givenUs !== null) this.#zeroUs ??= givenUs - this.#reorder.depth * USUAL_STEP_US;
    const shownUs = givenUs === null || this.#zeroUs === null ? this.#lastDtsUs + 1 : givenUs - this.#zeroUs;
    this.#lastDtsUs = Math.max(this.#reorder.estimate(shownUs, USUAL_STEP_US), this.#lastDtsUs + 1);
    return { dtsUs: this.#lastDtsUs, ptsUs: Math.max(shownUs, this.#lastDtsUs) };
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
