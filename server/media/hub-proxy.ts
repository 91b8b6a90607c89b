/** HLS, WHEP and WHIP requests of authorized clients, forwarded to the media hub over its Unix socket. */
import { type IncomingMessage, request } from "node:http";
import { CLIENT_HEADER, KEY_HEADER, RECORDING_HEADER } from "../../schemas/hub.ts";
import type { Watched } from "../keys/signed-urls.ts";
import { ServiceError } from "../service-error.ts";
import { listInvalid } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import { findHubPath, type PathOwner } from "../store/hub-paths.ts";

interface HubHttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** With its query. */
  readonly target: string;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array };
  /** The address of the client. */
  readonly client?: string;
  /** Of a publisher: the name of its recording. */
  readonly recording?: string | null;
  /** What authorized the client; absent for a signed URL. */
  readonly key?: string | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Resolves with the head of the response; the caller reads or destroys its body. Rejects with `media_unavailable`. */
export type AskHub = (request: HubHttpRequest) => Promise<IncomingMessage>;

/** @param limitMs for the head of the response, and for each pause in its body */
export const askHubAt =
  (socketPath: string, limitMs: number): AskHub =>
  ({ method, target, body, client, recording = null, key, signal }) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(body !== undefined && { "content-type": body.type, "content-length": body.bytes.length }),
        ...(client !== undefined && { [CLIENT_HEADER]: client }),
        ...(recording !== null && { [RECORDING_HEADER]: recording }),
        ...(key !== undefined && { [KEY_HEADER]: key }),
      };
      const sent = request({ socketPath, path: target, method, headers, signal, agent: false, timeout: limitMs });
      sent.on("timeout", () => sent.destroy(new Error(`no response within ${limitMs / 1000} s`)));
      sent.on("error", (cause) =>
        reject(new ServiceError("media_unavailable", { detail: explain(cause), retryAfterSeconds: 1, cause })),
      );
      sent.on("response", (response) => {
        response.on("error", () => {}); // the reader of the body gets it, too
        resolve(response);
      });
      sent.end(body?.bytes);
    });

function explain(cause: NodeJS.ErrnoException): string {
  const isRestarting = ["ECONNREFUSED", "ENOENT", "ECONNRESET"].includes(cause.code ?? "");
  return `The media hub ${isRestarting ? "is being restarted" : "does not respond"}; try again in a moment.`;
}

/** A deletion or a revoked key takes effect after this time at the latest. */
const FRESH_MS = 1000;
const MAX_CACHED = 2000;

/** Paths of watched sources and outputs, and keys of their players, cached: HLS players send many requests per second. */
export class WatchedPaths {
  readonly #sql: Sql;
  readonly #paths = new FreshCache<PathOwner | null>();
  readonly #keys = new FreshCache<boolean>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Null if it does not exist, or the key of its owner is no longer valid. */
  find(kind: Watched, uuid: string): Promise<PathOwner | null> {
    return this.#paths.find(`${kind}/${uuid}`, () => findHubPath(this.#sql, kind, uuid));
  }

  /** Whether a key can still be used. */
  isKeyValid(uuid: string): Promise<boolean> {
    return this.#keys.find(uuid, async () => (await listInvalid(this.#sql, [uuid])).length === 0);
  }
}

class FreshCache<T> {
  readonly #entries = new Map<string, { readonly askedMs: number; readonly found: Promise<T> }>();

  find(name: string, ask: () => Promise<T>): Promise<T> {
    const cached = this.#entries.get(name);
    if (cached !== undefined && performance.now() - cached.askedMs < FRESH_MS) return cached.found;
    const found = ask();
    this.#entries.delete(name);
    this.#entries.set(name, { askedMs: performance.now(), found });
    if (this.#entries.size > MAX_CACHED) this.#entries.delete(this.#entries.keys().next().value ?? "");
    found.catch(() => this.#entries.delete(name));
    return found;
  }
}
