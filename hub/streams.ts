/**
 * What is live, by path: one publisher each, any number of readers. A reader that joins gets the pictures since the last
 * key frame at once, then what comes. Nothing a reader does can hold up the publisher or another reader.
 */

import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { StreamInfo } from "../schemas/hub.ts";
import { shareOf } from "./key-share.ts";
import { LiveStream, type StreamStats } from "./live-stream.ts";
import type { Log } from "./log.ts";

/** Of one publication: whoever takes its units. Its methods must neither block nor throw. */
export interface Reader {
  /** Comes first, and again when the publisher changes its picture or sound: a key unit follows. */
  begin(tracks: Tracks): void;
  /** `isCached`: it came before this reader did, and is sent to give it a picture soon. */
  take(unit: AccessUnit, isCached: boolean): void;
  /** The publication is over; nothing more comes. */
  end(reason: string): void;
  /** Pictures that it was too slow for, so far. */
  readonly missed?: number;
  /** Where it comes from, if it could come as often as it likes: one client gets half of the places that others leave. */
  readonly client?: string | undefined;
}

/** What a publisher holds. Everything after `close` does nothing. */
export interface Publication {
  readonly path: string;
  /** Before the first unit, and whenever they change. */
  begin(tracks: Tracks): void;
  write(unit: AccessUnit): void;
  /** Something of a picture has come, even if nothing can be written before the next key picture. */
  heard(): void;
  close(reason: string): void;
  /** With the reason, once it is closed by whomever: its publisher, the watchdog, the server. Never rejects. */
  readonly ended: Promise<string>;
}

/** Why a publisher or a reader is not let in. */
export class StreamRefusal extends Error {
  readonly kind: "busy" | "not_live" | "too_many";
  constructor(kind: StreamRefusal["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface StreamLimits {
  readonly publishers: number;
  readonly readersPerStream: number;
  readonly cacheBytes: number;
  /** For all streams of one key together, and as much again for their HLS. */
  readonly keyBytes: number;
  readonly frozenMs: number;
  readonly keylessMs: number;
}

/** A stream can be played, and cannot any more. Neither may throw. */
export interface StreamEvents {
  published?(stream: StreamInfo, recording: string | null): void;
  unpublished?(path: string, reason: string): void;
}

/** So much later than its time a frozen publisher is let go at most. */
const CHECK_MS = 250;

export class Streams {
  readonly #limits: StreamLimits;
  readonly #events: StreamEvents;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #live = new Map<string, LiveStream>();
  readonly #watchdog: NodeJS.Timeout;
  readonly #checkMs: number;
  #checkedAt: number;

  constructor(limits: StreamLimits, events: StreamEvents = {}, log: Log = () => {}, now = () => performance.now()) {
    this.#limits = limits;
    this.#events = events;
    this.#log = log;
    this.#now = now;
    this.#checkMs = Math.min(Math.max(limits.frozenMs / 4, 10), CHECK_MS);
    this.#checkedAt = now();
    this.#watchdog = setInterval(() => this.#letFrozenGo(), this.#checkMs);
    this.#watchdog.unref();
  }

  /**
   * The path is taken from now on; it can be played when its first key picture has come. Throws a `StreamRefusal`. `isOwn`:
   * of a runner of the server's, whose pictures may stay away for any time, and who takes no place of others.
   */
  publish(path: string, protocol: StreamInfo["protocol"], recording: string | null, isOwn = false): Publication {
    if (this.#live.has(path)) throw new StreamRefusal("busy", `${path} is being published already`);
    if (!isOwn && this.#countForeign() >= this.#limits.publishers)
      throw new StreamRefusal("too_many", `${this.#limits.publishers} streams are being published, which is the most`);
    const cacheBytes = (): number => shareOf(path, this.#live.keys(), this.#limits.cacheBytes, this.#limits.keyBytes);
    const stream = new LiveStream({ path, protocol, isOwn, cacheBytes }, this.#limits, this.#log, this.#now);
    stream.onBegun = () => {
      this.#log("info", "a stream has begun", { path, protocol });
      this.#events.published?.(stream.info(), recording);
    };
    stream.onClosed = (reason) => {
      this.#live.delete(path);
      this.#log("info", "a stream has ended", { path, protocol, reason });
      if (stream.isPlayable) this.#events.unpublished?.(path, reason);
    };
    this.#live.set(path, stream);
    return stream;
  }

  /** Ends when the function it returns is called, or with the publication. Throws a `StreamRefusal`. */
  read(path: string, reader: Reader): () => void {
    const stream = this.#live.get(path);
    if (!stream?.isPlayable) throw new StreamRefusal("not_live", `nothing is published at ${path}`);
    return stream.join(reader);
  }

  /** Whether `read` would have a place for this client now. Throws a `StreamRefusal`. */
  expectRoom(path: string, client: string | undefined): void {
    this.#live.get(path)?.expectRoom(client);
  }

  /** What can be played at this path, or null. */
  tracks(path: string): Tracks | null {
    const stream = this.#live.get(path);
    return stream?.isPlayable ? stream.tracks : null;
  }

  /** Those that can be played. */
  list(): StreamStats[] {
    return [...this.#live.values()].filter(({ isPlayable }) => isPlayable).map((stream) => stream.stats());
  }

  /** Its publisher and its readers go. */
  expel(path: string, reason: string): void {
    this.#live.get(path)?.close(reason);
  }

  close(reason: string): void {
    clearInterval(this.#watchdog);
    for (const stream of [...this.#live.values()]) stream.close(reason);
  }

  #countForeign(): number {
    let count = 0;
    for (const { isOwn } of this.#live.values()) if (!isOwn) count++;
    return count;
  }

  #letFrozenGo(): void {
    const now = this.#now();
    // While we stood still ourselves, nothing could come from anybody.
    const late = Math.max(now - this.#checkedAt - 2 * this.#checkMs, 0);
    this.#checkedAt = now;
    const { frozenMs, keylessMs } = this.#limits;
    for (const stream of [...this.#live.values()]) {
      stream.heardAt += late;
      stream.pictureAt += late;
      if (stream.isOwn && stream.isPlayable) continue;
      if (now - stream.heardAt >= frozenMs) stream.close(`no picture came for ${frozenMs / 1000} s`);
      else if (now - stream.pictureAt >= keylessMs) {
        stream.close(`no key picture with SPS and PPS came for ${keylessMs / 1000} s`);
      }
    }
  }
}
