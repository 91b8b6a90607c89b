/** What the RTSP and RTMP publishers have in common: options, interface, and when a unit is accepted. */
import type { Socket } from "node:net";
import { type AccessUnit, byteLength } from "./access-unit.ts";

export interface ConnectOptions {
  /** Connect to this address instead of the URL's host, which requests still name. */
  readonly host?: string | undefined;
  /** Time limit of each step: the connection, each response. */
  readonly stepMs: number;
  /** Aborts at any step. */
  readonly signal?: AbortSignal | undefined;
}

export interface PublishOptions extends Partial<ConnectOptions> {
  /** Bytes that may be queued for the server; units beyond are rejected. */
  readonly queueBytes?: number;
  /** The publisher closes after the server has accepted no data for this long. */
  readonly stalledMs?: number;
}

export interface Publisher {
  /**
   * False: the unit was not accepted, because the queue is full, no keyframe was sent yet, or there is no such track.
   * Video is then rejected up to the next keyframe, without which it could not be decoded.
   */
  send(unit: AccessUnit): boolean;
  /** Resolves with the reason once nothing can be sent. */
  readonly closed: Promise<string>;
  /** Announces the end of the stream. Takes at most `stepMs`. */
  close(): Promise<void>;
}

export const PUBLISH_DEFAULTS = { stepMs: 5000, queueBytes: 2 * 2 ** 20, stalledMs: 10_000 };

/** Accepts units from the first keyframe, and after an overflow from the next keyframe. */
export class KeyframeGate {
  readonly #queueBytes: number;
  #needsKey = true;

  constructor(queueBytes: number) {
    this.#queueBytes = queueBytes;
  }

  accepts(unit: AccessUnit, queuedBytes: number): boolean {
    const isVideo = unit.kind === "video";
    if (this.#needsKey && !(isVideo && unit.isKey)) return false;
    // An empty queue accepts any size: otherwise a picture above the limit could never be sent.
    const isFull = queuedBytes > 0 && queuedBytes + byteLength(unit) > this.#queueBytes;
    if (isVideo) this.#needsKey = isFull;
    return !isFull;
  }
}

export const describeStall = (stalledMs: number): string => `the server accepted no data for ${stalledMs / 1000} s`;

/** Calls `fail` if the signal is aborted before the socket closes. */
export function failOnAbort(signal: AbortSignal | undefined, socket: Socket, fail: (reason: string) => void): void {
  const abort = (): void => fail("aborted");
  signal?.addEventListener("abort", abort);
  socket.once("close", () => signal?.removeEventListener("abort", abort));
  if (signal?.aborted) abort();
}
