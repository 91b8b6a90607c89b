/** Publishes a stream as MPEG-TS over SRT, as a caller. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { TsMuxer } from "../mpegts/muxer.ts";
import { describeStall, KeyframeGate, PUBLISH_DEFAULTS, type Publisher, type PublishOptions } from "../publisher.ts";
import { type SrtConnection, type SrtState, sharedSrtSockets } from "./socket.ts";

export interface SrtTarget {
  readonly host: string;
  readonly port: number;
  readonly streamId: string | null;
  readonly passphrase: string | null;
  readonly latencyMs: number;
  readonly keyBytes?: number | undefined;
}

const TICK_MS = 100;
/** The last packets are sent, and lost ones again, within the latency. */
const CLOSE_MS = 500;

/** Rejects with the reason if the receiver is unreachable, does not answer in time or rejects the stream. */
export async function publishSrt(target: SrtTarget, tracks: Tracks, options: PublishOptions = {}): Promise<Publisher> {
  const limits = { ...PUBLISH_DEFAULTS, ...options };
  const { host: named, keyBytes, ...more } = target;
  const host = options.host ?? (isIP(named) === 0 ? (await lookup(named)).address : named);
  options.signal?.throwIfAborted();
  const connection = sharedSrtSockets().connect({
    ...more,
    ...(keyBytes !== undefined && { keyBytes }),
    ...{ host, timeoutMs: limits.stepMs },
  });
  try {
    await connected(connection, limits.stepMs, options.signal);
  } catch (error) {
    connection.close();
    throw error;
  }
  return new SrtPublisher(connection, tracks, limits);
}

/** Resolves when the handshake is complete. */
function connected(connection: SrtConnection, limitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      const { state, ...rejection } = connection.state;
      if (state === "connecting") return;
      end();
      if (state === "connected") resolve();
      else reject(new Error(describeRejection(rejection)));
    };
    const abort = (): void => {
      end();
      reject(new Error("aborted"));
    };
    // libsrt has the same time limit; this one is the last resort.
    const late = setTimeout(() => {
      end();
      reject(new Error(`no answer within ${limitMs / 1000} s`));
    }, limitMs + 1000);
    const timer = setInterval(check, TICK_MS);
    const end = (): void => {
      clearTimeout(late);
      clearInterval(timer);
      signal?.removeEventListener("abort", abort);
      connection.events = { ready() {} };
    };
    signal?.addEventListener("abort", abort);
    connection.events = { ready: check };
    check();
  });
}

const REJECTIONS: Readonly<Record<number, string>> = {
  1400: "the receiver does not understand the stream id",
  1401: "the receiver rejects the key in the stream id",
  1402: "the receiver is overloaded, or a limit is reached",
  1403: "the receiver forbids this stream id",
  1404: "the receiver does not know the resource in the stream id",
  1405: "the receiver does not accept publishers",
  1409: "the receiver has another publisher for this stream id",
  1503: "the receiver is not available",
};
/** `SRT_REJ_BADSECRET`, `SRT_REJ_UNSECURE`, `SRT_REJ_TIMEOUT`. */
const BAD_SECRET = 10;
const UNSECURE = 11;
const TIMEOUT = 16;

export function describeRejection({ code, reason }: Pick<SrtState, "code" | "reason">): string {
  const known = REJECTIONS[code];
  if (known !== undefined) return known;
  if (code === BAD_SECRET) return "the receiver has another passphrase";
  if (code === UNSECURE) return "the receiver requires a passphrase, or has none";
  if (code === TIMEOUT || reason === "") return "no answer from the receiver";
  return `the receiver rejects the connection: ${reason}`;
}

interface Limits {
  readonly queueBytes: number;
  readonly stalledMs: number;
  readonly signal?: AbortSignal | undefined;
}

class SrtPublisher implements Publisher {
  readonly closed: Promise<string>;
  readonly #connection: SrtConnection;
  readonly #muxer: TsMuxer;
  readonly #limits: Limits;
  readonly #gate: KeyframeGate;
  readonly #timer: NodeJS.Timeout;
  #resolveClosed: (reason: string) => void = () => {};
  #isClosed = false;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #progressMs = performance.now();

  constructor(connection: SrtConnection, tracks: Tracks, limits: Limits) {
    this.#connection = connection;
    this.#muxer = new TsMuxer(tracks);
    this.#limits = limits;
    this.#gate = new KeyframeGate(limits.queueBytes);
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    connection.events = { ready: () => this.#flush() };
    // Events can be missed only together with their cause: this finds a silent end as well.
    this.#timer = setInterval(() => this.#flush(), TICK_MS);
    limits.signal?.addEventListener("abort", this.#abort);
  }

  send(unit: AccessUnit): boolean {
    if (this.#isClosed || !this.#gate.accepts(unit, this.#queuedBytes)) return false;
    const bytes = this.#muxer.write(unit);
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#flush();
    return !this.#isClosed;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#flush();
    // SRT has no end of stream: closing at once would discard what is in flight.
    if (!this.#isClosed) await new Promise((resolve) => setTimeout(resolve, CLOSE_MS));
    this.#end("closed");
  }

  readonly #abort = (): void => this.#end("aborted");

  #flush(): void {
    if (this.#isClosed) return;
    // A receiver sends nothing: this only notices the end.
    for (let data = this.#connection.receive(); data !== undefined; data = this.#connection.receive()) {
      if (data === null) {
        this.#end("the receiver closed the connection");
        return;
      }
    }
    while (this.#queue.length > 0) {
      const first = this.#queue[0] as Buffer;
      const sent = this.#connection.send(first);
      if (sent < 0) {
        this.#end("the connection was lost");
        return;
      }
      if (sent > 0) this.#progressMs = performance.now();
      this.#queuedBytes -= sent;
      if (sent < first.length) {
        this.#queue[0] = first.subarray(sent);
        break;
      }
      this.#queue.shift();
    }
    if (this.#queue.length === 0) this.#progressMs = performance.now();
    else if (performance.now() - this.#progressMs > this.#limits.stalledMs)
      this.#end(describeStall(this.#limits.stalledMs));
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#limits.signal?.removeEventListener("abort", this.#abort);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#connection.close();
    this.#resolveClosed(reason);
  }
}
