/**
 * Turns a publisher's pictures and audio frames into the access units of its publication: tracks parameter sets, starts at
 * the first keyframe, drops NAL units that no reader needs, and fixes timestamps. Invalid media throws a `MediaError`, and
 * the publisher must be disconnected.
 */
import { type AudioTrack, MediaError, type VideoTrack } from "../media/access-unit.ts";
import {
  hasRecoveryPoint,
  isBidirectional,
  isParameterSet,
  isSlice,
  NAL,
  nalType,
  pushNal,
  readLeadingNumbers,
} from "../media/h264/nal.ts";
import { readSps, type Sps } from "../media/h264/sps.ts";
import type { Publication } from "./live-stream.ts";
import { Timeline } from "./timeline.ts";

export interface VideoInput {
  /** By the publisher's clock, which may start anywhere. Null if the publisher does not send it. */
  readonly ptsUs: number | null;
  readonly dtsUs: number | null;
  /** Unix time. Null: now. */
  readonly captureMs: number | null;
  /** One whole picture, without start codes. */
  readonly nals: readonly Uint8Array[];
}

/** A publisher clock that is further off is ignored. */
const MAX_CLOCK_ERROR_MS = 3_600_000;

export class Ingest {
  readonly #publication: Publication;
  readonly #unitBytes: number;
  readonly #now: () => number;
  readonly #timeline = new Timeline();
  readonly #sets = new ParameterSets();
  #audio: AudioTrack | null = null;
  /** As published. */
  #video: VideoTrack | null = null;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(publication: Publication, limits: { readonly unitBytes: number }, now = () => performance.now()) {
    this.#publication = publication;
    this.#unitBytes = limits.unitBytes;
    this.#now = now;
  }

  /** Adds parameter sets that are sent apart from pictures: in SDP, in FLV. Can be repeated. Throws a `MediaError`. */
  setVideo(...sets: readonly Uint8Array[]): void {
    for (const set of sets) this.#sets.add(set);
  }

  setAudio(track: AudioTrack | null): void {
    if (this.#audio !== null && track !== null && Buffer.compare(this.#audio.config, track.config) === 0) return;
    if (this.#audio === null && track === null) return;
    this.#audio = track;
    if (this.#video !== null) this.#publication.setTracks({ video: this.#video, audio: track });
  }

  /** Throws a `MediaError`. */
  pushVideo({ ptsUs, dtsUs, captureMs, nals }: VideoInput): void {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let firstSlice: Uint8Array | null = null;
    let isKey = false;
    for (const nal of nals) {
      bytes += nal.length;
      if (bytes > this.#unitBytes) throw new MediaError(`the picture has more than ${this.#unitBytes} bytes`);
      const type = nalType(nal);
      if (type === NAL.sps || type === NAL.pps) this.#sets.add(nal);
      else if (type === NAL.sei) isKey ||= hasRecoveryPoint(nal);
      else if (isSlice(type)) {
        isKey ||= type === NAL.idr;
        firstSlice ??= nal;
      } else continue;
      pushNal(parts, nal);
    }
    if (firstSlice === null) return;
    this.#publication.touch();
    if (isKey) this.#sets.activate(firstSlice);
    // Pictures of a new SPS cannot be decoded before its keyframe.
    const isReady = isKey ? this.#sets.isComplete : this.#video !== null && !this.#sets.isChanged;
    if (!isReady) return;
    if (this.#sets.isChanged) this.#timeline.setDepth(this.#sets.reorderFrames ?? 0);
    const times = this.#timeline.placePicture(ptsUs, dtsUs, isBidirectional(firstSlice), this.#now() * 1000);
    if (isKey) this.#publishTracks();
    this.#publication.write({
      kind: "video",
      ...times,
      captureMs: checkClock(captureMs),
      isKey,
      parts: isKey ? this.#sets.prepend(parts) : parts,
    });
  }

  /** Throws a `MediaError`. */
  pushAudio({ ptsUs, captureMs, frame }: Pick<VideoInput, "ptsUs" | "captureMs"> & { frame: Uint8Array }): void {
    if (frame.length > this.#unitBytes) throw new MediaError(`the audio frame has more than ${this.#unitBytes} bytes`);
    if (this.#video === null || this.#audio === null || frame.length === 0) return;
    const times = this.#timeline.placeAudio(ptsUs, this.#now() * 1000);
    if (times === null) return;
    this.#publication.write({ kind: "audio", ...times, captureMs: checkClock(captureMs), isKey: true, parts: [frame] });
  }

  #publishTracks(): void {
    const reorders = this.#timeline.depth > 0;
    if (this.#video !== null && !this.#sets.isChanged && this.#video.reorders === reorders) return;
    this.#video = this.#sets.publish(reorders);
    this.#publication.setTracks({ video: this.#video, audio: this.#audio });
  }
}

function checkClock(captureMs: number | null): number {
  const now = Date.now();
  return captureMs !== null && Math.abs(captureMs - now) < MAX_CLOCK_ERROR_MS ? captureMs : now;
}

/** The largest that an AVC configuration can carry. */
const MAX_SET_BYTES = 65_535;
/** A stream has one or two of each. */
const MAX_SETS = 16;

interface KnownSps {
  readonly bytes: Uint8Array;
  readonly sps: Sps;
}

/** The latest SPS and PPS of a publisher, by id. */
class ParameterSets {
  readonly #sps = new Map<number, KnownSps>();
  readonly #pps = new Map<number, { readonly bytes: Uint8Array; readonly spsId: number }>();
  /** Id of the SPS of the last keyframe; before that, of the first SPS. */
  #activeId: number | null = null;
  /** The SPS that readers know. */
  #published: KnownSps | null = null;
  /** Every SPS, then every PPS. */
  #all: readonly Uint8Array[] = [];

  get isComplete(): boolean {
    return this.#active !== null && this.#pps.size > 0;
  }

  /** Another SPS is active than the one that readers know. A changed PPS does not matter: keyframes start with it. */
  get isChanged(): boolean {
    return this.#active !== this.#published;
  }

  get reorderFrames(): number | null {
    return this.#active?.sps.reorderFrames ?? null;
  }

  /** Throws a `MediaError` unless it is a valid SPS or PPS. */
  add(set: Uint8Array): void {
    if (set.length > MAX_SET_BYTES) throw new MediaError(`a parameter set has more than ${MAX_SET_BYTES} bytes`);
    const isPps = nalType(set) === NAL.pps;
    const known = isPps ? this.#pps : this.#sps;
    for (const { bytes } of known.values()) if (Buffer.compare(bytes, set) === 0) return;
    // A copy: the packet must not live as long as the stream.
    const bytes = new Uint8Array(set);
    if (isPps) {
      const [id, spsId] = readLeadingNumbers(set, 2) ?? [];
      if (id === undefined || spsId === undefined) throw new MediaError("the PPS is truncated");
      store(this.#pps, id, { bytes, spsId }, "PPS");
    } else {
      const sps = readSps(set);
      // The id follows profile, constraints and level.
      const [id = 0] = readLeadingNumbers(set.subarray(3), 1) ?? [];
      store(this.#sps, id, { bytes, sps }, "SPS");
      this.#activeId ??= id;
    }
    this.#all = [...this.#sps.values(), ...this.#pps.values()].map((entry) => entry.bytes);
  }

  /** Activates the SPS that a keyframe's first slice refers to. An unreadable slice changes nothing. */
  activate(slice: Uint8Array): void {
    const [, , ppsId = -1] = readLeadingNumbers(slice, 3) ?? [];
    const spsId = this.#pps.get(ppsId)?.spsId;
    if (spsId !== undefined && this.#sps.has(spsId)) this.#activeId = spsId;
  }

  /** Returns the track that readers get to know. Requires `isComplete`. */
  publish(reorders: boolean): VideoTrack {
    const active = this.#active;
    const all = [...this.#pps.values()];
    const pps = all.find(({ spsId }) => spsId === this.#activeId) ?? all[0];
    if (active === null || pps === undefined) throw new Error("no SPS or PPS yet");
    this.#published = active;
    const { width, height } = active.sps;
    return { codec: "h264", sps: active.bytes, pps: pps.bytes, width, height, reorders };
  }

  /** A keyframe with all parameter sets in front. */
  prepend(nals: readonly Uint8Array[]): Uint8Array[] {
    return [...this.#all, ...nals.filter((nal) => !isParameterSet(nal))];
  }

  get #active(): KnownSps | null {
    return this.#activeId === null ? null : (this.#sps.get(this.#activeId) ?? null);
  }
}

function store<T>(sets: Map<number, T>, id: number, set: T, name: string): void {
  if (!sets.has(id) && sets.size === MAX_SETS) throw new MediaError(`more than ${MAX_SETS} ${name}`);
  sets.set(id, set);
}
