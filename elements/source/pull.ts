/** Runs the ingest pipeline of a live source, driven by the state machine in reconnect.ts. */
import { maskCredentials } from "../../schemas/mask.ts";
import type { Driver, DriverServices, Ingest, MetadataTap } from "../element.ts";
import { expandIngest, type IngestOptions } from "./expand.ts";
import { tapKlv } from "./klv.ts";
import {
  type Advance,
  advance,
  begin,
  beginAgain,
  END_OF_STREAM,
  type Observation,
  type Order,
  type Random,
} from "./reconnect.ts";
import { isSound, tapSound } from "./sound.ts";
import type { LiveSource } from "./uri.ts";

export interface PullOptions extends IngestOptions {
  readonly giveUpSeconds: number;
  /** Metadata of the stream is telemetry. */
  readonly metadata?: boolean;
}

/** Clock, randomness and timer; replaced in tests. */
interface PullWorld {
  nowMs(): number;
  readonly random: Random;
  /** Calls back periodically until the returned function is called. */
  repeat(callback: () => void): () => void;
}

const POLL_MS = 100;
/** Interval of the statistics of the connection. */
const LINK_MS = 1000;

const WORLD: PullWorld = {
  nowMs: () => performance.now(),
  random: Math.random,
  repeat(callback) {
    const timer = setInterval(callback, POLL_MS);
    return () => clearInterval(timer);
  },
};

interface Attempt {
  readonly startedMs: number;
  /** Null until its pipeline is running. */
  ingest: Ingest | null;
  ended: string | null;
}

/** Keeps one ingest pipeline of a live source running, with reconnects, until closed or failed. */
export function pullLive(
  source: LiveSource,
  options: PullOptions,
  services: Pick<DriverServices, "ingest" | "emit" | "fail" | "log" | "deliver" | "isHeard">,
  world: PullWorld = WORLD,
): Driver {
  const limits = { ...options, giveUpMs: options.giveUpSeconds * 1000, loops: source.protocol === "file" };
  let attempt: Attempt | null = null;
  // The next attempt waits for it: many cameras allow only one connection.
  let tornDown: Promise<void> = Promise.resolve();
  let stopped = false;
  let paused = false;
  let linkReadMs = Number.NEGATIVE_INFINITY;

  const observe = (): Observation => ({
    nowMs: world.nowMs(),
    flowing: attempt?.ingest?.flowing ?? false,
    idleMs: attempt?.ingest?.idleMs() ?? world.nowMs() - (attempt?.startedMs ?? world.nowMs()),
    ended: attempt?.ended ?? null,
  });

  const step = (): void => {
    if (stopped || paused) return;
    apply(advance(state, observe(), limits, world.random));
    reportLink(attempt?.ingest ?? null);
  };

  const reportLink = (ingest: Ingest | null): void => {
    if (ingest?.readLink === undefined || world.nowMs() - linkReadMs < LINK_MS) return;
    linkReadMs = world.nowMs();
    void ingest.readLink().then((link) => {
      if (link !== null && attempt?.ingest === ingest) services.emit({ type: "link", ...link });
    });
  };

  const connect = (): void => {
    const mine: Attempt = { startedMs: world.nowMs(), ingest: null, ended: null };
    attempt = mine;
    const end = (error: Error | null): void => {
      mine.ended = error === null ? END_OF_STREAM : maskCredentials(explainReason(error.message, source.protocol));
      step();
    };
    const sound = tapSound(services);
    const tap = options.metadata === true ? joinTaps(tapKlv(services), sound) : sound;
    const started = tornDown.then(() =>
      attempt === mine ? services.ingest(expandIngest(source, options), tap) : null,
    );
    // A `close` while the pipeline starts waits until it has started and is torn down again.
    tornDown = started.then((ingest) => {
      if (ingest === null) return;
      if (attempt !== mine) return tearDown(ingest);
      mine.ingest = ingest;
      ingest.ended.then(end, end);
    }, end);
  };

  const disconnect = (): void => {
    if (attempt?.ingest) tornDown = tearDown(attempt.ingest);
    attempt = null;
  };

  const tearDown = (ingest: Ingest): Promise<void> =>
    ingest.close().catch((reason) => {
      services.log.warn("source connection did not close", { reason: maskCredentials(String(reason)) });
    });

  const execute = (order: Order): void => {
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

  const apply = (next: Advance): void => {
    state = next.state;
    next.orders.forEach(execute);
  };

  const stop = (): void => {
    stopped = true;
    stopPolling();
  };

  const first = begin(world.nowMs());
  let state = first.state;
  let stopPolling = world.repeat(step);
  apply(first);

  return {
    // Disconnects: an idle connection would cost the camera as much as an active one.
    async pause() {
      paused = true;
      stopPolling();
      disconnect();
      await tornDown;
    },
    resume() {
      if (stopped || !paused) return;
      paused = false;
      stopPolling = world.repeat(step);
      apply(beginAgain(world.nowMs(), limits));
    },
    async close() {
      stop();
      disconnect();
      await tornDown;
    },
  };
}

const joinTaps = (metadata: MetadataTap, sound: MetadataTap): MetadataTap => ({
  caps: `${metadata.caps};${sound.caps}`,
  onPacket: (packet) => (isSound(packet.caps) ? sound : metadata).onPacket(packet),
});

/** Explanations for GStreamer's error texts; the first match applies. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/\b401\b|unauthori[sz]ed/i, "wrong or missing user name and password (401)"],
  [/\b403\b|forbidden/i, "access denied for this user (403)"],
  [/\b404\b/, "path not found (404)"],
  [/\b45[39]\b|\b503\b/, "the server is busy and accepts no further client"],
  [/resolv|name or service not known/i, "host name not found"],
  [/refused/i, "connection refused: check address and port"],
  [/timeout|timed out/i, "the server does not answer"],
  [/reset by peer|system error/i, "connection reset by the server: check the port"],
  [/parse error/i, "the server does not speak RTSP: check the port"],
  [/short read|end-of-file/i, "the server closes the connection at once: check the port"],
  [/eos before any data/i, "the stream ended before any video: check the path, and that the stream is live"],
  [/failed to connect/i, "the server cannot be reached: check the address, and that it is switched on"],
  [/no stream that fits/i, "the stream has no video"],
  [
    /defined rejection reason/i,
    "the SRT server rejects the stream: check the stream id and the key in it, and that the stream is live",
  ],
];

/** How the FLV demuxer of GStreamer 1.22 reports a codec that it does not know: as `GST_FLOW_ERROR` of the source. */
const FLOW_ERROR = "reason error (-5)";

/** Other texts stay, without the full stop that GStreamer puts before its details. */
export function explainReason(text: string, protocol?: LiveSource["protocol"]): string {
  if (protocol === "rtmp" && text.includes(FLOW_ERROR))
    return "the video of the RTMP stream cannot be read: it must be H.264; pull H.265 over RTSP, or publish it to this service";
  return REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? text.replaceAll(".: ", ": ");
}
