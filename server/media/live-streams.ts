/** Live streams and traffic, as reported by the media hub. */
import type { HubMessage, StreamInfo } from "../../schemas/hub.ts";

export type HubStats = HubMessage & { readonly type: "stats" };

/** Counts are since the server started, over all hubs it has had. */
export interface MediaNumbers {
  readonly streams: number;
  readonly readers: number;
  readonly connections: number;
  readonly refused: number;
  readonly pictures: number;
  readonly bytes: number;
  readonly missed: number;
  readonly rssBytes: number;
  readonly restarts: number;
}

export type StreamNumbers = HubStats["streams"][number];

type Flow = Pick<HubStats["streams"][number], "pictures" | "bytes" | "missed">;

const NONE: Flow = { pictures: 0, bytes: 0, missed: 0 };

/** Since the last count; a smaller one has started again from 0. */
const growth = (now: number, before: number): number => (now < before ? now : now - before);

export class LiveStreams {
  readonly #streams = new Map<string, StreamInfo>();
  #flows: ReadonlyMap<string, Flow> = new Map();
  readonly #total = { pictures: 0, bytes: 0, missed: 0, refused: 0 };
  #latest: HubStats | null = null;
  #version = 0;

  /** Changes whenever a stream is added or removed. */
  get version(): number {
    return this.#version;
  }

  /** Of live streams, once they are measured: within a second. */
  get measured(): readonly StreamNumbers[] {
    return (this.#latest?.streams ?? []).filter(({ path, isRelay }) => isRelay !== true && this.#streams.has(path));
  }

  find(path: string): StreamInfo | null {
    return this.#streams.get(path) ?? null;
  }

  get paths(): readonly string[] {
    return [...this.#streams.keys()];
  }

  /** Streams of other nodes that have readers here. */
  get relayedPaths(): readonly string[] {
    return (this.#latest?.streams ?? []).filter(({ isRelay }) => isRelay === true).map(({ path }) => path);
  }

  add(stream: StreamInfo): void {
    this.#streams.set(stream.path, stream);
    this.#version += 1;
  }

  remove(path: string): void {
    this.#streams.delete(path);
    this.#version += 1;
  }

  /** The hub has ended, and with it all streams. */
  clear(): void {
    this.#streams.clear();
    this.#version += 1;
    this.#flows = new Map();
    this.#latest = null;
  }

  measure(stats: HubStats): void {
    for (const { path, pictures, bytes, missed } of stats.streams) {
      const before = this.#flows.get(path) ?? NONE;
      this.#total.pictures += growth(pictures, before.pictures);
      this.#total.bytes += growth(bytes, before.bytes);
      this.#total.missed += growth(missed, before.missed);
    }
    this.#flows = new Map(stats.streams.map((stream) => [stream.path, stream]));
    this.#total.refused += growth(stats.refused, this.#latest?.refused ?? 0);
    this.#latest = stats;
  }

  get numbers(): Omit<MediaNumbers, "restarts"> {
    const { connections = 0, rssBytes = 0, streams = [] } = this.#latest ?? {};
    const readers = streams.reduce((sum, stream) => sum + stream.readers, 0);
    return { ...this.#total, streams: this.#streams.size, readers, connections, rssBytes };
  }
}
