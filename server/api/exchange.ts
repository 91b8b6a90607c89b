/** One request and its answer, as the frame sees them. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import type { User } from "../user.ts";
import type { ClientAddresses } from "./client-address.ts";

const SANE_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** What the access log and the metrics are told. */
export interface Answered {
  readonly method: string;
  /** The endpoint's path with its parameters in braces; null when there is no such path. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

export class Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly request: Request;
  readonly requestId: string;
  readonly address: string;
  readonly publicUrl: string;
  user: User | null = null;
  route: string | null = null;
  /** Of the error it was answered with. */
  code: string | null = null;
  readonly #log: Logger;
  /** By `performance.now()`. */
  readonly beganMs = performance.now();
  #child: Logger | undefined;
  #abort: AbortController | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    request: Request,
    addresses: ClientAddresses,
    log: Logger,
  ) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.request = request;
    this.requestId = readRequestId(incoming);
    const { address, publicUrl } = addresses.find(incoming);
    this.address = address;
    this.publicUrl = publicUrl;
    this.#log = log;
  }

  get log(): Logger {
    this.#child ??= this.#log.child({ request_id: this.requestId });
    return this.#child;
  }

  /** Made when it is asked for: most endpoints answer at once. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    const abort = new AbortController();
    const check = () => {
      if (!this.outgoing.writableFinished) abort.abort(new Error("the client has gone"));
    };
    if (this.outgoing.closed) check();
    else this.outgoing.once("close", check);
    this.#abort = abort;
    return abort.signal;
  }

  /** Once the answer is out, or the client gone. */
  whenDone(told: (answered: Answered) => void): void {
    this.outgoing.once("close", () => told(this.#sumUp()));
  }

  #sumUp(): Answered {
    return {
      method: this.incoming.method ?? "",
      route: this.route,
      status: this.outgoing.statusCode,
      seconds: (performance.now() - this.beganMs) / 1000,
    };
  }

  logAccess({ method, status, seconds }: Answered): void {
    const line = {
      request_id: this.requestId,
      method,
      path: maskTarget(this.incoming.url ?? ""),
      status,
      ms: Math.round(seconds * 10_000) / 10,
      address: this.address,
      ...(this.user !== null && { username: this.user.username }),
      ...(this.code !== null && { code: this.code }),
      ...(!this.outgoing.writableFinished && { aborted: true }),
    };
    this.#log.info(line, "request");
  }
}

/** That of the client, when it is one that can be logged and sent back as it is. */
export function readRequestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && SANE_ID.test(given) ? given : randomUUID();
}

const MOST_LOGGED = 500;
/** Longer than what is logged, so that a password that begins there is seen to be one. */
const MOST_MASKED = 4000;

/** Names of parameters may be percent-encoded as well: what cannot be read is left out. */
export function maskTarget(target: string): string {
  const [path, query] = splitAt(target.slice(0, MOST_MASKED), "?");
  const shown = query === null ? path : `${path}?${decodeNames(query)}`;
  return maskCredentials(shown).slice(0, MOST_LOGGED);
}

const decodeNames = (query: string): string =>
  query
    .split("&")
    .map((part) => {
      const [name, value] = splitAt(part, "=");
      try {
        const plain = decodeURIComponent(name);
        return value === null ? plain : `${plain}=${value}`;
      } catch {
        return "***";
      }
    })
    .join("&");

function splitAt(text: string, separator: string): readonly [before: string, after: string | null] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}
