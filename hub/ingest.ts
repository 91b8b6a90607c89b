/**
 * Turns a publisher's pictures and audio frames into the access units of its publication: tracks parameter sets, starts at
 * the first keyframe, drops NAL units that no reader needs, and fixes timestamps. Invalid media throws a `MediaError`, and
 * the publisher must be disconnected.
 */
import {
  type AudioTrack,
  type KlvCarriage,
  MediaError,
  type TimedKlv,
  type Tracks,
  type VideoCodec,
  type VideoTrack,
} from "../media/access-unit.ts";
import type { Codec, ParameterSet, SetKind } from "../media/codec.ts";
import { CODECS, describeTrack, isParameterSet, isSetKind } from "../media/codecs.ts";
import { pushNal } from "../media/h264/nal.ts";
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

export interface KlvInput {
  /** By the clock of the pictures. Null: with the next picture. */
  readonly ptsUs: number | null;
  readonly data: Uint8Array;
}

/** A unit fits into one PES packet and one cell of MPEG-TS; larger ones are damaged. */
const MAX_KLV_BYTES = 65_000;
/** Metadata that waits for the next picture: several units with every picture are unusual. */
const MAX_KLV_WAITING = 32;
/** Metadata with a time further from its picture has another clock. */
const MAX_KLV_US = 5_000_000;

/** A publisher clock that is further off is ignored. */
const MAX_CLOCK_ERROR_MS = 3_600_000;

export class Ingest {
  readonly #publication: Publication;
  readonly #unitBytes: number;
  readonly #now: () => number;
  readonly #timeline = new Timeline();
  #sets = new ParameterSets(CODECS.h264);
  #audio: AudioTrack | null = null;
  #klv: KlvCarriage | null = null;
  #waitingKlv: KlvInput[] = [];
  /** As published. */
  #video: VideoTrack | null = null;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(publication: Publication, limits: { readonly unitBytes: number }, now = () => performance.now()) {
    this.#publication = publication;
    this.#unitBytes = limits.unitBytes;
    this.#now = now;
  }

  /** Before the first picture; otherwise it is H.264. Can be repeated. Throws a `MediaError` if the codec changes later. */
  setCodec(name: VideoCodec): void {
    const { codec } = this.#sets;
    if (codec.name === name) return;
    if (this.#video !== null)
      throw new MediaError(`the codec changed from ${codec.title} to ${CODECS[name].title}: publish the stream again`);
    this.#sets = new ParameterSets(CODECS[name]);
  }

  /** Adds parameter sets that are sent apart from pictures: in SDP, in FLV. Can be repeated. Throws a `MediaError`. */
  setVideo(...sets: readonly Uint8Array[]): void {
    for (const set of sets) this.#sets.add(set);
  }

  setAudio(track: AudioTrack | null): void {
    if (this.#audio !== null && track !== null && Buffer.compare(this.#audio.config, track.config) === 0) return;
    if (this.#audio === null && track === null) return;
    this.#audio = track;
    if (this.#video !== null) this.#publication.setTracks(this.#tracksWith(this.#video));
  }

  /** Null: the stream has no KLV metadata. Readers know it from the next keyframe on. */
  setKlv(carriage: KlvCarriage | null): void {
    if (carriage === this.#klv) return;
    this.#klv = carriage;
    this.#waitingKlv = [];
    if (this.#video !== null) this.#publication.setTracks(this.#tracksWith(this.#video));
  }

  /** Passed on with the next picture. */
  pushKlv(unit: KlvInput): void {
    if (this.#klv === null || unit.data.length === 0 || unit.data.length > MAX_KLV_BYTES) return;
    this.#waitingKlv.push(unit);
    if (this.#waitingKlv.length > MAX_KLV_WAITING) this.#waitingKlv.shift();
  }

  /** Throws a `MediaError`. */
  pushVideo({ ptsUs, dtsUs, captureMs, nals }: VideoInput): void {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let firstSlice: Uint8Array | null = null;
    let isKey = false;
    const { codec } = this.#sets;
    for (const nal of nals) {
      bytes += nal.length;
      if (bytes > this.#unitBytes) throw new MediaError(`the picture has more than ${this.#unitBytes} bytes`);
      const kind = codec.kindOf(nal);
      if (kind === "other") continue;
      if (isSetKind(kind)) this.#sets.add(nal);
      else isKey ||= codec.startsDecoding(nal);
      if (kind === "slice") firstSlice ??= nal;
      pushNal(parts, nal);
    }
    if (firstSlice === null) return;
    const waitingKlv = this.#waitingKlv;
    this.#waitingKlv = [];
    this.#publication.touch();
    if (isKey) this.#sets.activate(firstSlice);
    // Pictures of a new SPS cannot be decoded before its keyframe.
    const isReady = isKey ? this.#sets.isComplete : this.#video !== null && !this.#sets.isChanged;
    if (!isReady) return;
    if (this.#sets.isChanged) this.#timeline.setDepth(this.#sets.reorderFrames ?? 0);
    const isB = codec.mayReorder(firstSlice, this.#sets.reorderFrames);
    const times = this.#timeline.placePicture(ptsUs, dtsUs, isB, this.#now() * 1000);
    if (isKey) this.#publishTracks();
    const picture = {
      kind: "video" as const,
      ptsUs: times.ptsUs,
      dtsUs: times.dtsUs,
      captureMs: checkClock(captureMs),
      isKey,
      parts: isKey ? this.#sets.prepend(parts) : parts,
    };
    const klv = waitingKlv.map((unit) => placeKlv(unit, ptsUs, times.ptsUs));
    this.#publication.write(klv.length > 0 ? { ...picture, klv } : picture);
  }

  /** Throws a `MediaError`. */
  pushAudio({ ptsUs, captureMs, frame }: Pick<VideoInput, "ptsUs" | "captureMs"> & { frame: Uint8Array }): void {
    if (frame.length > this.#unitBytes) throw new MediaError(`the audio frame has more than ${this.#unitBytes} bytes`);
    // Some publishers start with seconds of audio: the wait for a keyframe is limited in another way.
    if (this.#video === null) this.#publication.touch();
    if (this.#video === null || this.#audio === null || frame.length === 0) return;
    const times = this.#timeline.placeAudio(ptsUs, this.#now() * 1000);
    if (times === null) return;
    this.#publication.write({ kind: "audio", ...times, captureMs: checkClock(captureMs), isKey: true, parts: [frame] });
  }

  #publishTracks(): void {
    const reorders = this.#timeline.depth > 0;
    if (this.#video !== null && !this.#sets.isChanged && this.#video.reorders === reorders) return;
    this.#video = this.#sets.publish(reorders);
    this.#publication.setTracks(this.#tracksWith(this.#video));
  }

  #tracksWith(video: VideoTrack): Tracks {
    return { video, audio: this.#audio, ...(this.#klv !== null && { klv: this.#klv }) };
  }
}

/** As far from its picture as the publisher says. */
function placeKlv({ ptsUs, data }: KlvInput, pictureUs: number | null, placedUs: number): TimedKlv {
  const apartUs = ptsUs === null || pictureUs === null ? 0 : ptsUs - pictureUs;
  return { ptsUs: placedUs + (Math.abs(apartUs) < MAX_KLV_US ? apartUs : 0), data };
}

function checkClock(captureMs: number | null): number {
  const now = Date.now();
  return captureMs !== null && Math.abs(captureMs - now) < MAX_CLOCK_ERROR_MS ? captureMs : now;
}

/** The largest that a decoder configuration can carry. */
const MAX_SET_BYTES = 65_535;
/** A stream has one or two of each. */
const MAX_SETS = 16;

interface KnownSet extends ParameterSet {
  readonly bytes: Uint8Array;
}

/** The latest parameter sets of a publisher, by kind and id. */
class ParameterSets {
  readonly codec: Codec;
  readonly #known: Readonly<Record<SetKind, Map<number, KnownSet>>> = {
    vps: new Map(),
    sps: new Map(),
    pps: new Map(),
  };
  /** The SPS of the last keyframe; before that, the first one. */
  #active: KnownSet | null = null;
  /** The SPS that readers know. */
  #published: KnownSet | null = null;
  /** In the order of their kinds. */
  #all: readonly Uint8Array[] = [];

  constructor(codec: Codec) {
    this.codec = codec;
  }

  get isComplete(): boolean {
    return this.#active !== null && this.codec.setKinds.every((kind) => this.#known[kind].size > 0);
  }

  /** Another SPS is active than the one that readers know. Other changed sets do not matter: keyframes start with them. */
  get isChanged(): boolean {
    return this.#active !== this.#published;
  }

  get reorderFrames(): number | null {
    return this.#active?.picture?.reorderFrames ?? null;
  }

  /** Throws a `MediaError` unless it is a valid parameter set. */
  add(nal: Uint8Array): void {
    if (nal.length > MAX_SET_BYTES) throw new MediaError(`a parameter set has more than ${MAX_SET_BYTES} bytes`);
    const kind = this.codec.kindOf(nal);
    if (isSetKind(kind))
      for (const { bytes } of this.#known[kind].values()) if (Buffer.compare(bytes, nal) === 0) return;
    const set = this.codec.readSet(nal);
    const known = this.#known[set.kind];
    if (!known.has(set.id) && known.size === MAX_SETS)
      throw new MediaError(`more than ${MAX_SETS} ${set.kind.toUpperCase()}`);
    const { id, refersTo, picture } = set;
    // A copy: the packet must not live as long as the stream.
    const added: KnownSet = { kind: set.kind, id, refersTo, picture, bytes: new Uint8Array(nal) };
    known.set(id, added);
    if (set.kind === "sps" && (this.#active === null || this.#active.id === id)) this.#active = added;
    this.#all = this.codec.setKinds.flatMap((each) => [...this.#known[each].values()].map(({ bytes }) => bytes));
  }

  /** Activates the SPS that a keyframe's first slice refers to. An unreadable slice changes nothing. */
  activate(slice: Uint8Array): void {
    const spsId = this.#known.pps.get(this.codec.readPpsId(slice) ?? -1)?.refersTo ?? null;
    if (spsId !== null) this.#active = this.#known.sps.get(spsId) ?? this.#active;
  }

  /** Returns the track that readers get to know. Requires `isComplete`. */
  publish(reorders: boolean): VideoTrack {
    const active = this.#active;
    if (active === null) throw new Error("no SPS yet");
    this.#published = active;
    const sets = this.codec.setKinds.map((kind) => {
      const all = [...this.#known[kind].values()];
      const isUsed = ({ id, refersTo }: KnownSet) => (kind === "pps" ? refersTo === active.id : id === active.refersTo);
      const found = kind === "sps" ? active : (all.find(isUsed) ?? all[0]);
      if (found === undefined) throw new Error(`no ${kind.toUpperCase()} yet`);
      return found.bytes;
    });
    return describeTrack(this.codec, sets, reorders);
  }

  /** A keyframe with all parameter sets in front. */
  prepend(nals: readonly Uint8Array[]): Uint8Array[] {
    return [...this.#all, ...nals.filter((nal) => !isParameterSet(this.codec, nal))];
  }
}
