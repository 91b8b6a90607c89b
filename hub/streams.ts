/** The live streams by path, each with one publisher and any number of readers. A watchdog closes frozen publications. */
import type { Tracks } from "../media/access-unit.ts";
import type { StreamInfo } from "../schemas/hub.ts";
import { describeRejection, StreamRejected } from "./errors.ts";
import { every } from "./every.ts";
import {
  LiveStream,
  type LiveStreamOptions,
  notLive,
  type Publication,
  type Reader,
  type StreamLimits,
  type StreamStats,
} from "./live-stream.ts";
import type { Log } from "./log.ts";

/** A stream becomes playable, and ends. Neither may throw. */
export interface StreamEvents {
  published?(stream: StreamInfo, recording: string | null): void;
  unpublished?(path: string, reason: string): void;
  /** An authorized publisher has ended without a keyframe, or has not begun. */
  abandoned?(path: string): void;
  /** An authorized publisher was rejected, or has ended without a keyframe. */
  rejected?(path: string, protocol: StreamInfo["protocol"], reason: string): void;
}

/** Maximum delay until a frozen publication is closed. */
const CHECK_MS = 250;

export class Streams {
  readonly #limits: StreamLimits;
  readonly #events: StreamEvents;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #live = new Map<string, LiveStream>();
  /** By name. Counted, since every unit of a stream needs it. */
  readonly #owners = new Map<string, { streams: number }>();
  readonly #endWatch: () => void;
  readonly #checkMs: number;
  #checkedAtMs: number;

  constructor(limits: StreamLimits, events: StreamEvents = {}, log: Log = () => {}, now = () => performance.now()) {
    this.#limits = limits;
    this.#events = events;
    this.#log = log;
    this.#now = now;
    this.#checkMs = Math.min(Math.max(limits.frozenMs / 4, 10), CHECK_MS);
    this.#checkedAtMs = now();
    this.#endWatch = every(this.#checkMs, () => this.#closeFrozen());
  }

  /**
   * Reserves the path; the stream is playable from its first keyframe. Throws `StreamRejected`. `isOwn`: published by a runner
   * of the server, which does not count against the limit and may pause for any time.
   */
  publish(path: string, protocol: StreamInfo["protocol"], recording: string | null, isOwn = false): Publication {
    const { publishers } = this.#limits;
    if (this.#live.get(path)?.isRelay === false) throw busy(path);
    if (!isOwn && [...this.#live.values()].filter((stream) => !stream.isOwn).length >= publishers)
      throw new StreamRejected("too_many", `limit of published streams reached (${publishers})`);
    // Of another node, where its publisher has ended.
    this.expel(path, "the stream is published on this node now");
    return this.#add({
      ...{ path, protocol, isOwn, isRelay: false },
      onStarted: (started) => {
        this.#log("info", "stream started", { path, protocol });
        this.#events.published?.(started.info(), recording);
      },
      onClosed: ({ isPlayable }, reason) => {
        this.#log("info", "stream ended", { path, protocol, reason });
        if (isPlayable) this.#events.unpublished?.(path, reason);
        else {
          this.#events.abandoned?.(path);
          if (!isOwn) this.#events.rejected?.(path, protocol, `no keyframe arrived: ${reason}`);
        }
      },
    });
  }

  /** A stream of another node, for readers here: neither counted, nor reported, nor recorded. Throws `StreamRejected`. */
  relay(path: string, events: Pick<LiveStreamOptions, "onStarted" | "onClosed">): LiveStream {
    if (this.#live.has(path)) throw busy(path);
    // Like an own stream: it may pause for as long as that of the other node.
    return this.#add({ path, protocol: "rtsp", isOwn: true, isRelay: true, ...events });
  }

  /** An authorized publisher does not begin. `rejection`: the error that it is answered with. */
  abandon(path: string, rejection?: { readonly protocol: StreamInfo["protocol"]; readonly error: unknown }): void {
    if (this.#live.get(path)?.isRelay !== false) this.#events.abandoned?.(path);
    if (rejection !== undefined) this.#events.rejected?.(path, rejection.protocol, describeRejection(rejection.error));
  }

  #add(options: Omit<LiveStreamOptions, "limits" | "log" | "now" | "cacheBytes">): LiveStream {
    const { path } = options;
    const { cacheBytes, keyBytes } = this.#limits;
    const name = ownerOf(path);
    const owner = this.#owners.get(name) ?? { streams: 0 };
    const stream = new LiveStream({
      ...{ ...options, limits: this.#limits, log: this.#log, now: this.#now },
      cacheBytes: () => Math.min(cacheBytes, keyBytes / owner.streams),
      onClosed: (closed, reason) => {
        this.#live.delete(path);
        if (--owner.streams === 0) this.#owners.delete(name);
        options.onClosed(closed, reason);
      },
    });
    owner.streams += 1;
    this.#owners.set(name, owner);
    this.#live.set(path, stream);
    return stream;
  }

  /** Adds a reader until the returned function is called or the publication ends. Throws `StreamRejected`. */
  read(path: string, reader: Reader): () => void {
    const stream = this.#live.get(path);
    if (!stream?.isPlayable) throw notLive(path);
    return stream.join(reader);
  }

  /** Throws `StreamRejected` if `read` would reject this client now. */
  expectRoom(path: string, client: string | undefined): void {
    this.#live.get(path)?.expectRoom(client);
  }

  /** A runner of the server publishes it. */
  isOwn(path: string): boolean {
    return this.#live.get(path)?.isOwn === true;
  }

  isRelay(path: string): boolean {
    return this.#live.get(path)?.isRelay === true;
  }

  /** The tracks of a playable stream, or null. */
  tracks(path: string): Tracks | null {
    return this.#live.get(path)?.tracks ?? null;
  }

  /** The playable streams. */
  list(): StreamStats[] {
    return [...this.#live.values()].filter(({ isPlayable }) => isPlayable).map((stream) => stream.stats());
  }

  /** Disconnects the publisher and the readers. */
  expel(path: string, reason: string): void {
    this.#live.get(path)?.close(reason);
  }

  close(reason: string): void {
    this.#endWatch();
    for (const stream of [...this.#live.values()]) stream.close(reason);
  }

  #closeFrozen(): void {
    const now = this.#now();
    // While this process itself was blocked, no data could arrive.
    const late = Math.max(now - this.#checkedAtMs - 2 * this.#checkMs, 0);
    this.#checkedAtMs = now;
    const { frozenMs, keylessMs } = this.#limits;
    for (const stream of [...this.#live.values()]) {
      stream.activeAtMs += late;
      stream.pictureAtMs += late;
      if (stream.isOwn && stream.isPlayable) continue;
      if (now - stream.activeAtMs >= frozenMs) stream.close(`no video received for ${frozenMs / 1000} s`);
      else if (now - stream.pictureAtMs >= keylessMs) {
        stream.close(`no keyframe with parameter sets received for ${keylessMs / 1000} s`);
      }
    }
  }
}

const busy = (path: string) => new StreamRejected("busy", `${path} is already being published`);

/** Paths start with the owner's name. All streams of one owner share `keyBytes` equally, each up to `maxBytes`. */
export function shareOf(path: string, paths: Iterable<string>, maxBytes: number, keyBytes: number): number {
  const owner = ownerOf(path);
  let count = 0;
  for (const other of paths) if (ownerOf(other) === owner) count += 1;
  return Math.min(maxBytes, keyBytes / Math.max(1, count));
}

const ownerOf = (path: string): string => path.split("/", 1)[0] ?? "";
