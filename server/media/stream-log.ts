/**
 * Beginnings and ends of published streams, and rejected publishers, stored as events in the order in which the media hub
 * reports them. What a server that was killed could not store, the next one does: its streams have ended.
 */
import type { Logger } from "pino";
import type { StreamInfo } from "../../schemas/hub.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { BatchWriter, ListQueue } from "../async/batch-writer.ts";
import { type Poller, sweepEvery } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import type { Sql } from "../store/client.ts";
import {
  type BegunStream,
  beginStream,
  endAllStreams,
  endLostStreams,
  endStream,
  type Rejection,
  rejectStream,
} from "../store/publications.ts";

interface StreamLogDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** There are no other nodes. */
  readonly isAlone: boolean;
}

export interface RejectedPublisher extends Omit<Rejection, "at" | "isEvent"> {
  /** It has sent the key of the owner of the path. */
  readonly isAuthenticated: boolean;
}

type Entry =
  | ({ readonly kind: "began" } & BegunStream)
  | ({ readonly kind: "ended"; readonly reason: string } & Pick<BegunStream, "path" | "nodeUuid" | "at">)
  | { readonly kind: "all ended"; readonly nodeUuid: string; readonly at: Date; readonly reason: string }
  | ({ readonly kind: "rejected" } & Rejection);

/** While the database is unreachable; then the oldest are lost. */
const MAX_QUEUED = 10_000;
const RETRY = { firstMs: 200, maxMs: 5_000 };
const SWEEP_MS = 10_000;
const CLOSE_MS = 3_000;
/** A publisher that retries is an event once in this time for the same reason. */
const REPEAT_MS = 10_000;
/** One without the key of the owner: anyone can be that, and must not fill the log of the owner. */
const STRANGER_MS = 600_000;
/** The last rejection of a source is stored at most once in this time. */
const SHOWN_MS = 1_000;
const MAX_REMEMBERED = 1_000;
const MAX_REASON = 500;

export class StreamLog {
  readonly #deps: StreamLogDeps;
  readonly #queue = new ListQueue<Entry>();
  readonly #writer: BatchWriter<Entry>;
  readonly #sweeping: Poller;
  /** When rejections were last reported. */
  readonly #rejectedMs = new Map<string, number>();

  private constructor(deps: StreamLogDeps) {
    const { sql, log } = deps;
    this.#deps = deps;
    this.#writer = new BatchWriter<Entry>({
      ...{ queue: this.#queue, retry: RETRY },
      write: (entries) => sql.begin(async (transaction) => void (await writeAll(transaction, entries))),
      onRetry: (error) => log.warn({ err: error }, "events of streams not stored; retrying"),
      onRejected: (entry, error) => log.error({ entry: entry.kind, err: error }, "event of a stream rejected"),
    });
    this.#sweeping = sweepEvery(
      SWEEP_MS,
      () => this.#endLost(),
      (error) => log.warn({ err: error }, "streams of lost nodes not ended; retrying"),
    );
  }

  /** Streams of a server that was killed have ended. */
  static async open(deps: StreamLogDeps): Promise<StreamLog> {
    await endLostStreams(deps.sql, deps.nodeUuid, deps.isAlone);
    return new StreamLog(deps);
  }

  /** The first keyframe has arrived. */
  add(stream: StreamInfo): void {
    this.#put({ kind: "began", ...stream, nodeUuid: this.#deps.nodeUuid, at: new Date() });
  }

  remove(path: string, reason: string): void {
    this.#put({ kind: "ended", path, nodeUuid: this.#deps.nodeUuid, at: new Date(), reason });
  }

  /** The hub has ended, and with it all streams of this node. */
  clear(reason: string): void {
    this.#put({ kind: "all ended", nodeUuid: this.#deps.nodeUuid, at: new Date(), reason });
  }

  reject({ isAuthenticated, path, protocol, reason }: RejectedPublisher): void {
    const isEvent = isAuthenticated ? this.#isDue(`${path} ${reason}`, REPEAT_MS) : this.#isDue(path, STRANGER_MS);
    if (!isEvent && !this.#isDue(`${path} shown`, SHOWN_MS)) return;
    const shown = maskCredentials(reason).slice(0, MAX_REASON);
    this.#put({ kind: "rejected", path, protocol, reason: shown, at: new Date(), isEvent });
  }

  #isDue(key: string, intervalMs: number): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.#rejectedMs.get(key) ?? Number.NEGATIVE_INFINITY) < intervalMs) return false;
    this.#rejectedMs.delete(key);
    this.#rejectedMs.set(key, nowMs);
    const [oldest] = this.#rejectedMs.keys();
    if (this.#rejectedMs.size > MAX_REMEMBERED && oldest !== undefined) this.#rejectedMs.delete(oldest);
    return true;
  }

  /** Stores what waits. */
  async close(): Promise<void> {
    await this.#sweeping.close();
    await withTimeout(CLOSE_MS, this.#writer.close());
  }

  #put(entry: Entry): void {
    const { items } = this.#queue;
    items.push(entry);
    if (items.length > MAX_QUEUED) {
      items.shift();
      this.#deps.log.error("event of a stream lost: the database is unreachable for too long");
    }
    this.#writer.wake();
  }

  async #endLost(): Promise<void> {
    const { sql, nodeUuid, isAlone } = this.#deps;
    await endLostStreams(sql, nodeUuid, isAlone);
  }
}

async function writeAll(sql: Parameters<typeof beginStream>[0], entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) {
    if (entry.kind === "began") await beginStream(sql, entry);
    else if (entry.kind === "ended") await endStream(sql, entry);
    else if (entry.kind === "rejected") await rejectStream(sql, entry);
    else await endAllStreams(sql, entry.nodeUuid, entry.at, entry.reason);
  }
}
