/** The SPS and PPS of a publisher, as it told them last. */
import { MediaFault } from "../media/fault.ts";
import { BitReader } from "../media/h264/bit-reader.ts";
import { NAL, nalType } from "../media/h264/nal.ts";
import { readSps, type Sps } from "../media/h264/sps.ts";
import type { VideoTrack } from "../media/unit.ts";

/** What an AVC configuration can tell of one. */
const MOST_BYTES = 65_535;
/** A stream has one or two; more are kept of none that is heard of. */
const MOST_PPS = 16;

export class ParameterSets {
  #bytes: Uint8Array | null = null;
  #sps: Sps | null = null;
  readonly #pps = new Map<number, Uint8Array>();
  /** The SPS, and every PPS by its number. */
  #all: readonly Uint8Array[] = [];
  #isNew = false;

  get isComplete(): boolean {
    return this.#sps !== null && this.#pps.size > 0;
  }

  /** There is another SPS than readers were told of. Another PPS is no news to them: key units begin with it. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** See `Sps`. */
  get reorderFrames(): number | null {
    return this.#sps?.reorderFrames ?? null;
  }

  /** Throws a `MediaFault` for what is neither SPS nor PPS. */
  keep(set: Uint8Array): void {
    if (set.length > MOST_BYTES) throw new MediaFault(`a parameter set of more than ${MOST_BYTES} bytes`);
    if (nalType(set) === NAL.pps) this.#keepPps(set);
    else if (this.#bytes === null || !isSame(this.#bytes, set)) {
      this.#sps = readSps(set);
      this.#bytes = copy(set);
      this.#isNew = true;
      this.#arrange();
    }
  }

  /** Those that are known, now told to readers. Only when complete. */
  settle(reorders: boolean): VideoTrack {
    const [pps] = this.#pps.values();
    if (this.#sps === null || this.#bytes === null || pps === undefined) throw new Error("no SPS or PPS yet");
    this.#isNew = false;
    const { width, height } = this.#sps;
    return { codec: "h264", sps: this.#bytes, pps, width, height, reorders };
  }

  /** A key picture with them in front, whether it came with them or not. */
  putFirst(nals: readonly Uint8Array[]): Uint8Array[] {
    return [...this.#all, ...nals.filter((nal) => nalType(nal) !== NAL.sps && nalType(nal) !== NAL.pps)];
  }

  #keepPps(set: Uint8Array): void {
    const id = readPpsId(set);
    const known = this.#pps.get(id);
    if (known !== undefined && isSame(known, set)) return;
    if (known === undefined && this.#pps.size === MOST_PPS) throw new MediaFault(`more than ${MOST_PPS} PPS`);
    this.#pps.set(id, copy(set));
    this.#arrange();
  }

  #arrange(): void {
    this.#all = this.#bytes === null ? [] : [this.#bytes, ...this.#pps.values()];
  }
}

function readPpsId(pps: Uint8Array): number {
  try {
    return new BitReader(pps, 16).unsigned(255);
  } catch (error) {
    throw error instanceof MediaFault
      ? new MediaFault(`the PPS is damaged: ${error.message}`, { cause: error })
      : error;
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Kept for as long as the stream lives: without the packet it came in. */
const copy = (set: Uint8Array): Uint8Array => new Uint8Array(set);
