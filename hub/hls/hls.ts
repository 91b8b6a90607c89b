/**
 * HLS with low latency, in memory, made only while somebody asks for it: the first playlist that is asked for makes it a
 * reader of the stream, and when nobody has asked for a while it stops.
 */
import type { HubSettings } from "../../schemas/hub.ts";
import type { HttpAnswer } from "../http.ts";
import { shareOf } from "../key-share.ts";
import type { Log } from "../log.ts";
import { StreamRefusal, type Streams } from "../streams.ts";
import { HlsStream } from "./hls-stream.ts";
import { MEDIA_PLAYLIST, MULTIVARIANT_PLAYLIST } from "./playlist.ts";

export interface HlsParts {
  readonly settings: {
    readonly limits: Pick<HubSettings["limits"], "hlsIdleMs" | "hlsBytes" | "keyBytes" | "readersPerStream">;
  };
  readonly streams: Pick<Streams, "read">;
  readonly log: Log;
}

/** Segments are counted by the seconds since: none lasts less than one, so that no window counts what an earlier did. */
const EPOCH_MS = Date.UTC(2025, 0, 1);
const PLAYLISTS: readonly string[] = [MULTIVARIANT_PLAYLIST, MEDIA_PLAYLIST];

export class Hls {
  readonly #parts: HlsParts;
  readonly #streams = new Map<string, HlsStream>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(parts: HlsParts) {
    this.#parts = parts;
    const { hlsIdleMs } = parts.settings.limits;
    this.#sweeper = setInterval(() => this.#stopIdle(), Math.min(Math.max(hlsIdleMs / 4, 10), 1000));
    this.#sweeper.unref();
  }

  /** Rejects with a `StreamRefusal` where nothing is live, or it cannot be read. */
  async answer(path: string, file: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#find(path, file).answer(file, query, signal);
  }

  close(): void {
    clearInterval(this.#sweeper);
    for (const path of [...this.#streams.keys()]) this.#stop(path);
  }

  #find(path: string, file: string): HlsStream {
    const known = this.#streams.get(path);
    if (known !== undefined && !known.isEnded) return known;
    if (!PLAYLISTS.includes(file)) {
      if (known === undefined) throw new StreamRefusal("not_live", `no HLS is made of ${path}: ask for its playlist`);
      return known;
    }
    try {
      return this.#begin(path, known?.nextNumber ?? 0);
    } catch (error) {
      // Who watched when the stream stopped sees it to its end. Who comes now does not.
      if (known !== undefined && file === MEDIA_PLAYLIST) return known;
      throw error;
    }
  }

  #begin(path: string, leastNumber: number): HlsStream {
    const { settings, streams, log } = this.#parts;
    const firstNumber = Math.max(leastNumber, Math.floor((Date.now() - EPOCH_MS) / 1000));
    const { readersPerStream, hlsBytes, keyBytes } = settings.limits;
    const mostBytes = (): number => shareOf(path, this.#streams.keys(), hlsBytes, keyBytes);
    const stream = new HlsStream(readersPerStream, firstNumber, mostBytes);
    stream.leave = streams.read(path, stream.reader);
    this.#streams.set(path, stream);
    log("debug", "a stream is made into HLS", { path });
    return stream;
  }

  #stopIdle(): void {
    for (const [path, stream] of [...this.#streams]) {
      if (stream.idleMs < this.#parts.settings.limits.hlsIdleMs) continue;
      this.#stop(path);
      this.#parts.log("debug", "a stream is not made into HLS any more", { path });
    }
  }

  #stop(path: string): void {
    this.#streams.get(path)?.close();
    this.#streams.delete(path);
  }
}
