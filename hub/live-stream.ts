/**
 * One publication and its readers. A reader that joins gets the units since the last keyframe, then live ones. No reader can
 * block the publisher or another reader.
 */
import { type AccessUnit, byteLength, type Tracks } from "../media/access-unit.ts";
import type { HubMessage, HubSettings, StreamInfo } from "../schemas/hub.ts";
import { describeBug, INTERNAL_ERROR, StreamRejected } from "./errors.ts";
import type { Log } from "./log.ts";

/** Consumes the units of one publication. Its methods must neither block nor throw. */
export interface Reader {
  /** Called first, and when the publisher changes its tracks. A keyframe follows. */
  setTracks(tracks: Tracks): void;
  /** `isCached`: published before this reader joined. */
  push(unit: AccessUnit, isCached: boolean): void;
  /** The publication has ended. */
  end(reason: string): void;
  /** Pictures dropped so far because the reader was too slow. */
  readonly missed?: number;
  /** Address of an untrusted client: one client gets at most half of the readers that the others leave. */
  readonly client?: string | undefined;
}

export type StreamLimits = Pick<
  HubSettings["limits"],
  "publishers" | "readersPerStream" | "cacheBytes" | "keyBytes" | "frozenMs" | "keylessMs"
>;
export type StreamStats = Extract<HubMessage, { type: "stats" }>["streams"][number];

/** Of the connection to the publisher, as far as its protocol measures it. */
export type Link = NonNullable<StreamStats["link"]>;

export interface LiveStreamOptions {
  readonly path: string;
  readonly protocol: StreamInfo["protocol"];
  /** Published by a runner of the server. */
  readonly isOwn: boolean;
  /** Published on another node. */
  readonly isRelay: boolean;
  readonly limits: StreamLimits;
  readonly log: Log;
  readonly now: () => number;
  /** Bytes that may be cached for new readers. Evaluated for each unit: it depends on the owner's other streams. */
  cacheBytes(): number;
  /** The first keyframe has arrived. */
  onStarted(stream: LiveStream): void;
  onClosed(stream: LiveStream, reason: string): void;
}

interface Seat {
  readonly reader: Reader;
  /** The reader cannot decode anything before the next keyframe. */
  needsKey: boolean;
  /** PTS of its first keyframe. Pictures displayed earlier refer to ones that it does not have. */
  beginUs: number;
  isGone: boolean;
}

/** The publisher's side of a stream. After `close`, all methods do nothing. */
export type Publication = Pick<LiveStream, "path" | "setTracks" | "write" | "touch" | "close" | "ended" | "readLink">;

export class LiveStream {
  readonly path: string;
  readonly isOwn: boolean;
  readonly isRelay: boolean;
  /** Resolves with the reason when the publisher, the watchdog or the server closes it. */
  readonly ended: Promise<string>;
  /** When data of a picture arrived last, and when a picture was written last. */
  activeAtMs: number;
  pictureAtMs: number;
  /** The first keyframe has arrived. */
  isPlayable = false;
  /** Set by the publisher's session. Null: not measured, or the connection has ended. */
  readLink: () => Link | null = () => null;

  readonly #options: LiveStreamOptions;
  readonly #cache: GopCache;
  #resolveEnded: (reason: string) => void = () => {};
  /** Replaced, never changed: readers can join and leave while a unit is distributed. */
  #seats: readonly Seat[] = [];
  #tracks: Tracks | null = null;
  /** Valid from the next keyframe. */
  #nextTracks: Tracks | null = null;
  #isClosed = false;
  #pictures = 0;
  #bytes = 0;
  readonly #jitter = new Jitter();
  /** By readers that have left. */
  #missed = 0;

  constructor(options: LiveStreamOptions) {
    this.#options = options;
    this.path = options.path;
    this.isOwn = options.isOwn;
    this.isRelay = options.isRelay;
    this.#cache = new GopCache(options.cacheBytes);
    this.activeAtMs = options.now();
    this.pictureAtMs = this.activeAtMs;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Null until the first keyframe. */
  get tracks(): Tracks | null {
    return this.isPlayable ? this.#tracks : null;
  }

  get readers(): number {
    return this.#seats.length;
  }

  /** Called before the first unit, and on changes. */
  setTracks(tracks: Tracks): void {
    if (!this.#isClosed) this.#nextTracks = tracks;
  }

  write(unit: AccessUnit): void {
    if (this.#isClosed) return;
    if (unit.kind === "video" && unit.isKey && this.#nextTracks !== null) this.#switchTracks(this.#nextTracks);
    // Units of tracks that readers do not know yet are dropped up to the next keyframe.
    else if (this.#nextTracks !== null && this.#nextTracks[unit.kind] !== this.#tracks?.[unit.kind]) return;
    if (unit.kind === "video") this.#pictures++;
    if (this.#tracks === null) return;
    this.#bytes += byteLength(unit);
    // Cached before it is distributed: a reader that joins meanwhile gets it from the cache.
    const seats = this.#seats;
    this.#cache.add(unit);
    for (const seat of seats) this.#distribute(seat, unit);
    if (unit.kind === "video") {
      this.touch();
      this.pictureAtMs = this.activeAtMs;
      this.#jitter.add(unit.dtsUs / 1000, this.pictureAtMs);
    }
    if (!this.isPlayable) {
      this.isPlayable = true;
      this.#options.onStarted(this);
    }
  }

  /** Data of a picture has arrived, even if it cannot be written before the next keyframe. */
  touch(): void {
    this.activeAtMs = this.#options.now();
  }

  /** Returns a function that removes the reader. Throws `StreamRejected`. */
  join(reader: Reader): () => void {
    const tracks = this.#tracks;
    if (this.#isClosed || tracks === null) throw notLive(this.path);
    this.expectRoom(reader.client);
    const seat: Seat = { reader, needsKey: true, beginUs: 0, isGone: false };
    this.#seats = [...this.#seats, seat];
    this.#attempt(seat, () => {
      reader.setTracks(tracks);
      for (const unit of this.#cache.units()) if (!seat.isGone && canDecode(seat, unit)) reader.push(unit, true);
    });
    return () => this.#leave(seat);
  }

  /** Throws `StreamRejected` if this client cannot join now. */
  expectRoom(client: string | undefined): void {
    const max = this.#options.limits.readersPerStream;
    const { length: taken } = this.#seats;
    if (taken >= max) throw new StreamRejected("too_many", `reader limit of ${this.path} reached (${max})`);
    const own = client === undefined ? 0 : this.#seats.filter(({ reader }) => reader.client === client).length;
    if (own > 0 && own >= (max - taken + own) / 2)
      throw new StreamRejected("too_many", `reader limit of ${this.path} for one address reached (${own})`);
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cache.clear();
    const seats = this.#seats;
    this.#seats = [];
    this.#options.onClosed(this, reason);
    for (const seat of seats) {
      if (seat.isGone) continue;
      seat.isGone = true;
      this.#attempt(seat, () => seat.reader.end(reason));
    }
    this.#resolveEnded(reason);
  }

  info(): StreamInfo {
    const { path, protocol } = this.#options;
    const { codec = "h264", width = 0, height = 0 } = this.#tracks?.video ?? {};
    return { path, protocol, codec, width, height, hasAudio: this.#tracks !== null && this.#tracks.audio !== null };
  }

  stats(): StreamStats {
    const missed = this.#seats.reduce((sum, { reader }) => sum + (reader.missed ?? 0), this.#missed);
    const { path, isRelay, readers } = this;
    const link = this.#isClosed ? null : this.readLink();
    return {
      ...{ path, pictures: this.#pictures, bytes: this.#bytes, readers, missed, jitterMs: this.#jitter.ms },
      ...(isRelay && { isRelay }),
      ...(link !== null && { link }),
    };
  }

  #switchTracks(tracks: Tracks): void {
    this.#tracks = tracks;
    this.#nextTracks = null;
    this.#cache.clear();
    for (const seat of this.#seats) {
      if (seat.isGone) continue;
      seat.needsKey = true;
      this.#attempt(seat, () => seat.reader.setTracks(tracks));
    }
  }

  #distribute(seat: Seat, unit: AccessUnit): void {
    if (seat.isGone || !canDecode(seat, unit)) return;
    // Without a closure: called for every unit and reader.
    try {
      seat.reader.push(unit, false);
    } catch (error) {
      this.#remove(seat, error);
    }
  }

  #attempt(seat: Seat, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#remove(seat, error);
    }
  }

  /** A bug in a reader removes only that reader. */
  #remove(seat: Seat, error: unknown): void {
    this.#options.log("error", "reader failed", { path: this.path, error: describeBug(error) });
    if (seat.isGone) return;
    this.#leave(seat);
    try {
      seat.reader.end(INTERNAL_ERROR);
    } catch {
      // Its first error is logged.
    }
  }

  #leave(seat: Seat): void {
    if (seat.isGone) return;
    seat.isGone = true;
    this.#missed += seat.reader.missed ?? 0;
    this.#seats = this.#seats.filter((other) => other !== seat);
  }
}

export const notLive = (path: string) => new StreamRejected("not_live", `no stream is published at ${path}`);

/** From a keyframe on, without pictures displayed before it (open GOP). */
function canDecode(seat: Seat, unit: AccessUnit): boolean {
  if (seat.needsKey) {
    if (unit.kind === "audio" || !unit.isKey) return false;
    seat.needsKey = false;
    seat.beginUs = unit.ptsUs;
  }
  return unit.kind === "audio" || unit.ptsUs >= seat.beginUs;
}

/** A unit with the time at which a player displays it. */
export interface TimedUnit {
  readonly unit: AccessUnit;
  readonly timeUs: number;
}

const SQUEEZED_STEP_US = 1000;

/**
 * New times for the cached pictures, which a player gets at once: with their own times it would stay behind by their
 * duration. They end just before the live pictures, one millisecond apart. In decoding order; cached audio is dropped.
 */
export function squeeze(units: readonly AccessUnit[]): TimedUnit[] {
  const pictures = units.filter(({ kind }) => kind === "video");
  // Live pictures are displayed after this; cached ones that are displayed even later keep their times.
  const liveUs = pictures.at(-1)?.dtsUs ?? 0;
  const past = pictures.filter(({ ptsUs }) => ptsUs < liveUs).sort((a, b) => a.ptsUs - b.ptsUs);
  const times = new Map(past.map((unit, i) => [unit, liveUs - (past.length - i) * SQUEEZED_STEP_US]));
  return pictures.map((unit) => ({ unit, timeUs: Math.max(times.get(unit) ?? unit.ptsUs, unit.ptsUs) }));
}

/** A pause of the publisher is not jitter. */
const MAX_JITTER_MS = 5_000;

/** How irregularly pictures arrive, compared with their timestamps: the estimate of RFC 3550, 6.4.1. */
class Jitter {
  ms = 0;
  #last: { readonly sentMs: number; readonly arrivedMs: number } | null = null;

  add(sentMs: number, arrivedMs: number): void {
    const late = this.#last === null ? 0 : arrivedMs - this.#last.arrivedMs - (sentMs - this.#last.sentMs);
    this.#last = { sentMs, arrivedMs };
    this.ms += (Math.min(Math.abs(late), MAX_JITTER_MS) - this.ms) / 16;
  }
}

/** A GOP has hundreds of units; each costs more than its bytes. */
const MAX_CACHED_UNITS = 8192;

/** The units since the last keyframe. A GOP that exceeds the limit is dropped. */
class GopCache {
  readonly #maxBytes: () => number;
  #units: AccessUnit[] = [];
  #bytes = 0;

  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  /** A copy: units added later are not in it. */
  units(): readonly AccessUnit[] {
    return this.#units.slice();
  }

  add(unit: AccessUnit): void {
    if (unit.kind === "video" && unit.isKey) this.clear();
    else if (this.#units.length === 0) return;
    this.#bytes += byteLength(unit);
    this.#units.push(unit);
    if (this.#bytes > this.#maxBytes() || this.#units.length > MAX_CACHED_UNITS) this.clear();
  }

  clear(): void {
    this.#units = [];
    this.#bytes = 0;
  }
}
