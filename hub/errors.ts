/** Errors and texts that clients are answered with, and guards that confine a bug to one connection. */
import { MediaError } from "../media/access-unit.ts";
import type { Authorization } from "../schemas/hub.ts";
import type { Log } from "./log.ts";

/** Why the server does not authorize a client, or why the hub cannot publish or play a stream. */
export type RejectionKind = NonNullable<Authorization["refusal"]>["kind"] | "not_live" | "too_many";

/** A publisher or reader is not admitted. The message may be sent to the client. */
export class StreamRejected extends Error {
  readonly kind: RejectionKind;
  constructor(kind: RejectionKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A request is answered with this RTSP or HTTP status and message. */
export class StatusError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export const textAnswer = (status: number, body: string): HttpAnswer => ({
  ...{ status, body },
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
});

/** Wraps callbacks of sockets and timers of one connection: an error ends that connection and not the hub. */
export type Guard = <A extends readonly unknown[]>(work: (...given: A) => void) => (...given: A) => void;

/** `fail` closes the connection, and logs the error unless the peer caused it. */
export const guardBy =
  (fail: (error: unknown) => void): Guard =>
  (work) =>
  (...given) => {
    try {
      work(...given);
    } catch (error) {
      fail(error);
    }
  };

/** The last resort: logs exceptions and rejections that no guard caught, and the process continues. */
export function logUncaught(log: Log): void {
  process.on("uncaughtException", (error) => log("error", "uncaught exception", { error: describeBug(error) }));
}

export const describeBug = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The reason that a client gets for a bug. */
export const INTERNAL_ERROR = "internal error of the media server";

/** The reason that a rejected publisher is answered with. */
export const describeRejection = (error: unknown): string =>
  error instanceof StreamRejected || error instanceof StatusError || error instanceof MediaError
    ? error.message
    : INTERNAL_ERROR;
