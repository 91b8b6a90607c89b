/** One publication and those who read it. */

import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { StreamInfo } from "../schemas/hub.ts";
import { GopCache } from "./gop-cache.ts";
import { describeFault } from "./guard.ts";
import type { Log } from "./log.ts";
import { type Publication, type Reader, type StreamLimits, StreamRefusal } from "./streams.ts";

export interface StreamStats {
  readonly path: string;
  readonly pictures: number;
  readonly bytes: number;
  readonly readers: number;
  readonly missed: number;
}

interface Seat {
  readonly reader: Reader;
  /** Nothing before the next key unit can be decoded by it. */
  needsKey: boolean;
  /** When the key picture it began with is shown. Pictures shown before that need others that it has not got. */
  beginUs: number;
  isGone: boolean;
}

interface StreamOrigin {
  readonly path: string;
  readonly protocol: StreamInfo["protocol"];
  /** Of a runner of the server's. */
  readonly isOwn: boolean;
  /** Bytes that may be kept for players that join, as it is now. */
  cacheBytes(): number;
}

export class LiveStream implements Publication {
  readonly path: string;
  readonly isOwn: boolean;
  readonly ended: Promise<string>;
  onBegun: () => void = () => {};
  onClosed: (reason: string) => void = () => {};
  /** By the clock it was given: when something of a picture came last, and when one that could be written did. */
  heardAt: number;
  pictureAt: number;

  readonly #protocol: StreamInfo["protocol"];
  readonly #limits: StreamLimits;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #cache: GopCache;
  #end: (reason: string) => void = () => {};
  /** Replaced, never changed: whoever goes or comes while a unit is handed out disturbs nobody. */
  #seats: readonly Seat[] = [];
  #tracks: Tracks | null = null;
  /** Told by the publisher, valid from the next key unit on. */
  #nextTracks: Tracks | null = null;
  #isPlayable = false;
  #isClosed = false;
  #pictures = 0;
  #bytes = 0;
  /** Of readers that have gone. */
  #missed = 0;

  constructor({ path, protocol, isOwn, cacheBytes }: StreamOrigin, limits: StreamLimits, log: Log, now: () => number) {
    this.path = path;
    this.isOwn = isOwn;
    this.#protocol = protocol;
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
    this.#cache = new GopCache(cacheBytes);
    this.heardAt = now();
    this.pictureAt = this.heardAt;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get isPlayable(): boolean {
    return this.#isPlayable;
  }

  get tracks(): Tracks | null {
    return this.#tracks;
  }

  begin(tracks: Tracks): void {
    if (!this.#isClosed) this.#nextTracks = tracks;
  }

  write(unit: AccessUnit): void {
    if (this.#isClosed) return;
    if (unit.kind === "video") {
      if (unit.isKey && this.#nextTracks !== null) this.#turn(this.#nextTracks);
      else if (this.#isOfNextTracks("video")) return;
      this.#pictures++;
    } else if (this.#isOfNextTracks("audio")) return;
    if (this.#tracks === null) return;
    this.#bytes += byteLength(unit);
    // Kept before it is handed out: a reader that joins meanwhile has it from there.
    const seats = this.#seats;
    this.#cache.add(unit);
    for (const seat of seats) this.#hand(seat, unit);
    if (unit.kind === "video") {
      this.pictureAt = this.#now();
      this.heardAt = this.pictureAt;
    }
    if (!this.#isPlayable) {
      this.#isPlayable = true;
      this.onBegun();
    }
  }

  heard(): void {
    this.heardAt = this.#now();
  }

  join(reader: Reader): () => void {
    const tracks = this.#tracks;
    if (this.#isClosed || tracks === null) throw new StreamRefusal("not_live", `nothing is published at ${this.path}`);
    this.expectRoom(reader.client);
    const seat: Seat = { reader, needsKey: true, beginUs: 0, isGone: false };
    this.#seats = [...this.#seats, seat];
    this.#attempt(seat, () => {
      reader.begin(tracks);
      for (const unit of this.#cache.units()) if (!seat.isGone && admit(seat, unit)) reader.take(unit, true);
    });
    return () => this.#leave(seat);
  }

  /** Throws a `StreamRefusal`. */
  expectRoom(client: string | undefined): void {
    const { readersPerStream: most } = this.#limits;
    const { length: taken } = this.#seats;
    if (taken >= most) throw new StreamRefusal("too_many", `${this.path} has ${most} readers, which is the most`);
    const own = client === undefined ? 0 : this.#seats.filter(({ reader }) => reader.client === client).length;
    if (own > 0 && own >= (most - taken + own) / 2)
      throw new StreamRefusal("too_many", `${this.path} has ${own} readers from this address, which is the most now`);
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cache.clear();
    const seats = this.#seats;
    this.#seats = [];
    this.onClosed(reason);
    for (const seat of seats) {
      if (seat.isGone) continue;
      seat.isGone = true;
      this.#attempt(seat, () => seat.reader.end(reason));
    }
    this.#end(reason);
  }

  info(): StreamInfo {
    const { width = 0, height = 0 } = this.#tracks?.video ?? {};
    const hasAudio = this.#tracks !== null && this.#tracks.audio !== null;
    return { path: this.path, protocol: this.#protocol, width, height, hasAudio };
  }

  stats(): StreamStats {
    const missed = this.#seats.reduce((sum, { reader }) => sum + (reader.missed ?? 0), this.#missed);
    const { length: readers } = this.#seats;
    return { path: this.path, pictures: this.#pictures, bytes: this.#bytes, readers, missed };
  }

  /** Made for tracks that nobody knows yet: they are told of with the next key unit. */
  #isOfNextTracks(kind: "video" | "audio"): boolean {
    return this.#nextTracks !== null && this.#nextTracks[kind] !== this.#tracks?.[kind];
  }

  #turn(tracks: Tracks): void {
    this.#tracks = tracks;
    this.#nextTracks = null;
    this.#cache.clear();
    for (const seat of this.#seats) {
      if (seat.isGone) continue;
      seat.needsKey = true;
      this.#attempt(seat, () => seat.reader.begin(tracks));
    }
  }

  #hand(seat: Seat, unit: AccessUnit): void {
    if (seat.isGone || !admit(seat, unit)) return;
    // No closure: this is done for every unit and reader.
    try {
      seat.reader.take(unit, false);
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

  /** A fault of ours, which costs this reader its picture and nobody else. */
  #remove(seat: Seat, error: unknown): void {
    this.#log("error", "a reader failed and was removed", { path: this.path, error: describeFault(error) });
    if (seat.isGone) return;
    this.#leave(seat);
    try {
      seat.reader.end("it could not be served because of a fault of the media server");
    } catch {
      // Told above already.
    }
  }

  #leave(seat: Seat): void {
    if (seat.isGone) return;
    seat.isGone = true;
    this.#missed += seat.reader.missed ?? 0;
    this.#seats = this.#seats.filter((other) => other !== seat);
  }
}

/** Whether the reader can decode it: from a key picture on, without what is shown before that (open groups of pictures). */
function admit(seat: Seat, unit: AccessUnit): boolean {
  if (seat.needsKey) {
    if (unit.kind === "audio" || !unit.isKey) return false;
    seat.needsKey = false;
    seat.beginUs = unit.ptsUs;
  }
  return unit.kind === "audio" || unit.ptsUs >= seat.beginUs;
}

export function byteLength(unit: AccessUnit): number {
  let bytes = 0;
  for (const part of unit.parts) bytes += part.length;
  return bytes;
}
