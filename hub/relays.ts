/**
 * Streams that another node publishes, pulled from its hub while they have readers here: once a stream, however many readers it
 * has. A relay whose connection is lost ends like any stream; its readers connect again, and so does the next relay.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { HubSettings } from "../schemas/hub.ts";
import { describeBug, StreamRejected } from "./errors.ts";
import { every } from "./every.ts";
import { type LiveStream, notLive } from "./live-stream.ts";
import type { Log } from "./log.ts";
import { PULL_LIMITS, Pull, type PullLimits } from "./rtsp/pull.ts";
import type { Streams } from "./streams.ts";

interface RelaysDeps {
  readonly streams: Streams;
  /** The URL at the node that publishes this stream, with a token; null if no other node does. */
  locate(path: string): Promise<string | null>;
  readonly limits: NonNullable<HubSettings["relay"]> & Pick<HubSettings["limits"], "unitBytes">;
  readonly log: Log;
  /** For tests. */
  readonly pull?: Partial<PullLimits>;
}

const CHECK_MS = 250;
/** Delay before another attempt: doubled with each. */
const FIRST_PAUSE_MS = 150;
const MAX_PAUSE_MS = 2_000;

export class Relays {
  readonly #deps: RelaysDeps;
  readonly #relays = new Map<string, Relay>();
  readonly #endTicks: () => void;
  #isClosed = false;

  constructor(deps: RelaysDeps) {
    this.#deps = deps;
    this.#endTicks = every(CHECK_MS, () => {
      for (const relay of this.#relays.values()) relay.tick();
    });
  }

  /** Resolves when the stream can be read here. Rejects with `StreamRejected`. */
  async want(path: string): Promise<void> {
    const { streams } = this.#deps;
    if (streams.tracks(path) !== null && !streams.isRelay(path)) return;
    if (this.#isClosed) throw new StreamRejected("unavailable", "the media server is shutting down");
    let relay = this.#relays.get(path);
    if (relay === undefined || relay.isOver) {
      const added = new Relay(path, this.#deps);
      relay = added;
      this.#relays.set(path, added);
      void added.gone.then(() => {
        if (this.#relays.get(path) === added) this.#relays.delete(path);
      });
    }
    await relay.use();
  }

  close(): void {
    this.#isClosed = true;
    this.#endTicks();
    for (const relay of this.#relays.values()) relay.close("the media server is shutting down");
  }
}

class Relay {
  /** Resolves when nothing of it is left. Never rejects. */
  readonly gone: Promise<void>;
  /** It was playable, and its stream has ended. */
  isOver = false;
  readonly #path: string;
  readonly #deps: RelaysDeps;
  readonly #ready: Promise<void>;
  readonly #aborter = new AbortController();
  #stream: LiveStream | null = null;
  #usedMs = performance.now();
  #isReady = false;
  #isClosed = false;

  constructor(path: string, deps: RelaysDeps) {
    this.#path = path;
    this.#deps = deps;
    const pulled = this.#open();
    this.#ready = pulled.then(() => {
      this.#isReady = true;
    });
    this.gone = pulled.then(
      async (pull) => {
        const reason = await pull.ended;
        deps.log("info", "relay ended", { path, reason });
      },
      () => {},
    );
  }

  use(): Promise<void> {
    this.#usedMs = performance.now();
    return this.#ready;
  }

  tick(): void {
    // Until it is ready its readers wait for it.
    if (!this.#isReady || this.#stream === null || this.#stream.readers > 0) this.#usedMs = performance.now();
    else if (performance.now() - this.#usedMs > this.#deps.limits.idleMs) this.close("it has no readers");
  }

  close(reason: string): void {
    this.#isClosed = true;
    // With its stream, the pull ends.
    if (this.#stream === null) this.#aborter.abort();
    else this.#stream.close(reason);
  }

  /** Resolves when the stream is playable. Retries within the time limit. Rejects with `StreamRejected`. */
  async #open(): Promise<Pull> {
    const { limits, locate, log } = this.#deps;
    const deadlineMs = performance.now() + limits.waitMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      let reason: string;
      try {
        const url = await locate(this.#path);
        if (url === null) throw notLive(this.#path);
        const pull = await this.#pull(url, deadlineMs);
        log("info", "relay started", { path: this.#path });
        return pull;
      } catch (error) {
        if (error instanceof StreamRejected) throw error;
        reason = error instanceof Error ? error.message : describeBug(error);
      }
      if (this.#isClosed || performance.now() + pauseMs > deadlineMs) {
        log("warn", "relay failed", { path: this.#path, reason });
        throw new StreamRejected("unavailable", `${this.#path} cannot be relayed from its node: ${reason}`);
      }
      await sleep(pauseMs);
    }
  }

  /** Rejects with the reason when the stream is not playable in time. */
  async #pull(url: string, deadlineMs: number): Promise<Pull> {
    const { streams, limits } = this.#deps;
    let isPlayable: () => void = () => {};
    const playable = new Promise<null>((resolve) => {
      isPlayable = () => resolve(null);
    });
    const publish = (): LiveStream => {
      this.#stream = streams.relay(this.#path, {
        onStarted: isPlayable,
        onClosed: (closed) => {
          this.isOver = closed.isPlayable;
        },
      });
      return this.#stream;
    };
    const pullLimits = { ...PULL_LIMITS, ...this.#deps.pull, unitBytes: limits.unitBytes };
    const { signal } = this.#aborter;
    try {
      const pull = await Pull.open(url, publish, pullLimits, signal);
      const late = sleep(Math.max(deadlineMs - performance.now(), 0), "no keyframe in time", { ref: false });
      const failure = await Promise.race([playable, pull.ended, late]);
      if (failure === null) return pull;
      pull.close(failure);
      throw new Error(failure);
    } catch (error) {
      this.#stream?.close((error as Error).message);
      this.#stream = null;
      // It is published here now: the caller reads that stream, or learns that it is not live yet.
      if (error instanceof StreamRejected && error.kind === "busy") throw new Error(error.message);
      throw error;
    }
  }
}
