/** The SPS and PPS of a publisher, as it told them last. */
import { MediaError, type VideoTrack } from "../media/access-unit.ts";
import { NAL, nalType, readLeadingNumbers } from "../media/h264/nal.ts";
import { readSps, type Sps } from "../media/h264/sps.ts";

/** What an AVC configuration can tell of one. */
const MOST_BYTES = 65_535;
/** A stream has one or two of each; more are kept of none that is heard of. */
const MOST_SETS = 16;

interface KnownSps {
  readonly bytes: Uint8Array;
  readonly sps: Sps;
}

interface KnownPps {
  readonly bytes: Uint8Array;
  readonly spsId: number;
}

export class ParameterSets {
  readonly #sps = new Map<number, KnownSps>();
  readonly #pps = new Map<number, KnownPps>();
  /** The number of the SPS that the last key picture was made by; the first one before that. */
  #current: number | null = null;
  /** As readers were told of it. */
  #told: KnownSps | null = null;
  /** Every SPS and every PPS by its number. */
  #all: readonly Uint8Array[] = [];

  get isComplete(): boolean {
    return this.#inUse !== null && this.#pps.size > 0;
  }

  /** There is another SPS in use than readers were told of. Another PPS is no news to them: key units begin with it. */
  get isNew(): boolean {
    return this.#inUse !== this.#told;
  }

  /** See `Sps`. */
  get reorderFrames(): number | null {
    return this.#inUse?.sps.reorderFrames ?? null;
  }

  /** Throws a `MediaError` for what is neither SPS nor PPS. */
  keep(set: Uint8Array): void {
    if (set.length > MOST_BYTES) throw new MediaError(`a parameter set of more than ${MOST_BYTES} bytes`);
    if (nalType(set) === NAL.pps) this.#keepPps(set);
    else this.#keepSps(set);
  }

  /** The first slice of a key picture: from now on what it was made by is in use. What cannot be read changes nothing. */
  use(slice: Uint8Array): void {
    const [, , ppsId = -1] = readLeadingNumbers(slice, 3) ?? [];
    const spsId = this.#pps.get(ppsId)?.spsId;
    if (spsId !== undefined && this.#sps.has(spsId)) this.#current = spsId;
  }

  /** Those that are known, now told to readers. Only when complete. */
  settle(reorders: boolean): VideoTrack {
    const inUse = this.#inUse;
    const all = [...this.#pps.values()];
    const pps = all.find(({ spsId }) => spsId === this.#current) ?? all[0];
    if (inUse === null || pps === undefined) throw new Error("no SPS or PPS yet");
    this.#told = inUse;
    const { width, height } = inUse.sps;
    return { codec: "h264", sps: inUse.bytes, pps: pps.bytes, width, height, reorders };
  }

  /** A key picture with them in front, whether it came with them or not. */
  putFirst(nals: readonly Uint8Array[]): Uint8Array[] {
    return [...this.#all, ...nals.filter((nal) => nalType(nal) !== NAL.sps && nalType(nal) !== NAL.pps)];
  }

  get #inUse(): KnownSps | null {
    return this.#current === null ? null : (this.#sps.get(this.#current) ?? null);
  }

  #keepSps(set: Uint8Array): void {
    for (const { bytes } of this.#sps.values()) if (isSame(bytes, set)) return;
    const sps = readSps(set);
    // After the profile, its constraints and the level.
    const [id = 0] = readLeadingNumbers(set.subarray(3), 1) ?? [];
    if (!this.#sps.has(id) && this.#sps.size === MOST_SETS) throw new MediaError(`more than ${MOST_SETS} SPS`);
    this.#sps.set(id, { bytes: copy(set), sps });
    this.#current ??= id;
    this.#arrange();
  }

  #keepPps(set: Uint8Array): void {
    for (const { bytes } of this.#pps.values()) if (isSame(bytes, set)) return;
    const [id, spsId] = readLeadingNumbers(set, 2) ?? [];
    if (id === undefined || spsId === undefined) throw new MediaError("the PPS is damaged: its number is cut off");
    if (!this.#pps.has(id) && this.#pps.size === MOST_SETS) throw new MediaError(`more than ${MOST_SETS} PPS`);
    this.#pps.set(id, { bytes: copy(set), spsId });
    this.#arrange();
  }

  #arrange(): void {
    this.#all = [...this.#sps.values(), ...this.#pps.values()].map(({ bytes }) => bytes);
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Kept for as long as the stream lives: without the packet it came in. */
const copy = (set: Uint8Array): Uint8Array => new Uint8Array(set);
