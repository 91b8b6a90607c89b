import { NAL, nalType, splitStartCodes } from "../../media/h264/nal.ts";
import { readSps } from "../../media/h264/sps.ts";
import type { Tracks, Unit } from "../../media/unit.ts";

/** No player needs them. */
const LEFT_OUT: readonly number[] = [NAL.delimiter, NAL.filler];

/** Makes units of what our own encoders give: no pictures out of order, parameter sets with every key picture. */
export class UnitMaker {
  #tracks: Tracks | null = null;
  #waitsForKey = true;
  #firstPtsUs: number | null = null;
  #lastPtsUs = -1;

  /** Null until the first key picture. `bytes` are kept. */
  make(
    bytes: Uint8Array,
    ptsNs: bigint | null,
    captureNs: bigint,
  ): { readonly unit: Unit; readonly tracks: Tracks } | null {
    const parts = splitStartCodes(bytes).filter((nal) => !LEFT_OUT.includes(nalType(nal)));
    const isKey = parts.some((nal) => nalType(nal) === NAL.idr);
    if (isKey) this.#readSets(parts);
    if (this.#tracks === null || (this.#waitsForKey && !isKey)) return null;
    this.#waitsForKey = false;
    const ptsUs = this.#place(ptsNs);
    const captureMs = Number(captureNs / 1000n) / 1000;
    return { unit: { kind: "video", dtsUs: ptsUs, ptsUs, captureMs, isKey, parts }, tracks: this.#tracks };
  }

  /** Pictures were discarded: what comes next may need them. */
  expectKey(): void {
    this.#waitsForKey = true;
  }

  #readSets(parts: readonly Uint8Array[]): void {
    const sps = parts.find((nal) => nalType(nal) === NAL.sps);
    const pps = parts.find((nal) => nalType(nal) === NAL.pps);
    if (sps === undefined || pps === undefined) return;
    if (this.#tracks !== null && isSame(sps, this.#tracks.video.sps) && isSame(pps, this.#tracks.video.pps)) return;
    const { width, height } = readSps(sps);
    // Copied: a part of a picture would keep the whole of it.
    const sets = { sps: sps.slice(), pps: pps.slice() };
    this.#tracks = { video: { codec: "h264", ...sets, width, height, reorders: false }, audio: null };
  }

  /** Zero-based and strictly increasing, whatever comes. */
  #place(ptsNs: bigint | null): number {
    const givenUs = ptsNs === null ? null : Number(ptsNs / 1000n);
    this.#firstPtsUs ??= givenUs;
    const ptsUs = givenUs === null || this.#firstPtsUs === null ? 0 : givenUs - this.#firstPtsUs;
    this.#lastPtsUs = Math.max(ptsUs, this.#lastPtsUs + 1);
    return this.#lastPtsUs;
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
