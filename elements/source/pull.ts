import { maskCredentials } from "../../schemas/mask.ts";
import type { Driver, DriverServices, Ingest } from "../element.ts";
import { expandIngest, type IngestOptions } from "./expand.ts";
import { type Advance, advance, begin, beginAgain, type Observation, type Order, type Random } from "./reconnect.ts";
import type { LiveSource } from "./uri.ts";

export interface PullOptions extends IngestOptions {
  readonly giveUpSeconds: number;
}

/** Time and chance; tests bring their own. */
export interface PullWorld {
  nowMs(): number;
  readonly random: Random;
  /** Calls back again and again until the returned function is called. */
  repeat(callback: () => void): () => void;
}

const LOOK_EVERY_MS = 100;

const WORLD: PullWorld = {
  nowMs: () => performance.now(),
  random: Math.random,
  repeat(callback) {
    const timer = setInterval(callback, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  },
};

interface Attempt {
  readonly startedMs: number;
  /** Null until its pipeline is up. */
  ingest: Ingest | null;
  ended: string | null;
}

/** Keeps one ingest pipeline at a time alive on a live source, until closed or given up. */
export function pullLive(
  source: LiveSource,
  options: PullOptions,
  services: Pick<DriverServices, "ingest" | "emit" | "fail" | "log">,
  world: PullWorld = WORLD,
): Driver {
  const limits = { ...options, giveUpMs: options.giveUpSeconds * 1000 };
  let attempt: Attempt | null = null;
  // The next attempt waits for it: many cameras allow one connection.
  let torn: Promise<void> = Promise.resolve();
  let stopped = false;
  let paused = false;

  const look = (): Observation => ({
    nowMs: world.nowMs(),
    flowing: attempt?.ingest?.flowing ?? false,
    idleMs: attempt?.ingest?.idleMs() ?? world.nowMs() - (attempt?.startedMs ?? world.nowMs()),
    ended: attempt?.ended ?? null,
  });

  const step = (): void => {
    if (!stopped && !paused) follow(advance(state, look(), limits, world.random));
  };

  const connect = (): void => {
    const mine: Attempt = { startedMs: world.nowMs(), ingest: null, ended: null };
    attempt = mine;
    const end = (error: Error | null): void => {
      mine.ended = error === null ? "the stream ended" : maskCredentials(explainReason(error.message));
      step();
    };
    const started = torn.then(() => (attempt === mine ? services.ingest(expandIngest(source, options)) : null));
    // Until it is up it counts as not torn down: whoever closes meanwhile waits until it is up, and down again.
    torn = started.then((ingest) => {
      if (ingest === null) return;
      if (attempt !== mine) return tearDown(ingest);
      mine.ingest = ingest;
      ingest.ended.then(end, end);
    }, end);
  };

  const disconnect = (): void => {
    if (attempt?.ingest) torn = tearDown(attempt.ingest);
    attempt = null;
  };

  const tearDown = (ingest: Ingest): Promise<void> =>
    ingest.close().catch((reason) => {
      services.log.warn("a source connection did not close", { reason: maskCredentials(String(reason)) });
    });

  const obey = (order: Order): void => {
    switch (order.do) {
      case "connect":
        connect();
        break;
      case "disconnect":
        disconnect();
        break;
      case "fail":
        stop();
        services.fail(new Error(`cannot play ${source.display}: ${order.reason}`));
        break;
      case "announce":
        services.emit({
          type: "source",
          state: order.state,
          reason: order.reason,
          attempt: order.attempt,
          retry_in_ms: order.retryInMs,
        });
    }
  };

  const follow = (next: Advance): void => {
    state = next.state;
    next.orders.forEach(obey);
  };

  const stop = (): void => {
    stopped = true;
    stopLooking();
  };

  const first = begin(world.nowMs());
  let state = first.state;
  let stopLooking = world.repeat(step);
  follow(first);

  return {
    // The connection is closed: one that is held without being read costs the camera as much as one that is.
    async pause() {
      paused = true;
      stopLooking();
      disconnect();
      await torn;
    },
    resume() {
      if (stopped || !paused) return;
      paused = false;
      stopLooking = world.repeat(step);
      follow(beginAgain(world.nowMs(), limits));
    },
    async close() {
      stop();
      disconnect();
      await torn;
    },
  };
}

/** GStreamer's words for why a camera does not play, in words that say what to do. The first that fits. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/\b401\b|unauthori[sz]ed/i, "it wants a user name and password, or other ones than these (401)"],
  [/\b403\b|forbidden/i, "it refuses this user (403)"],
  [/\b404\b/, "it has no such path (404)"],
  [/\b45[39]\b|\b503\b/, "it is busy and takes no further player"],
  [/resolv|name or service not known/i, "its host name is not known"],
  [/refused/i, "nothing listens there (connection refused)"],
  [/timeout|timed out/i, "it does not answer"],
  [/reset by peer|system error/i, "it cuts the connection off: is this the right port?"],
  [/parse error/i, "it does not speak RTSP: is this the right port?"],
  [/short read|end-of-file/i, "it closes the connection at once: is this the right port?"],
  [/eos before any data/i, "it sends nothing, or ends before any video has come: is the path right, and is it live?"],
  [/failed to connect/i, "it cannot be reached: is the address right, and is it switched on?"],
  [/no stream that fits/i, "it sends no video"],
];

/** Words that none fits are left, but for the full stop that GStreamer has before its details. */
export function explainReason(text: string): string {
  return REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? text.replaceAll(".: ", ": ");
}
