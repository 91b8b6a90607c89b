/** HLS, WHEP and WHIP requests of authorized clients, forwarded to the media hub over its Unix socket. */
import { type IncomingMessage, request } from "node:http";
import { CLIENT_HEADER, KEY_HEADER, RECORDING_HEADER } from "../../schemas/hub.ts";
import type { Watched } from "../keys/signed-urls.ts";
import { ServiceError } from "../service-error.ts";
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

/** Paths of watched sources and outputs, cached: HLS players send many requests per second. */
export class WatchedPaths {
  readonly #sql: Sql;
  readonly #cache = new Map<string, { readonly askedMs: number; readonly found: Promise<PathOwner | null> }>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Null if it does not exist, or the key of its owner is no longer valid. */
  find(kind: Watched, uuid: string): Promise<PathOwner | null> {
    const name = `${kind}/${uuid}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined && performance.now() - cached.askedMs < FRESH_MS) return cached.found;
    const found = findHubPath(this.#sql, kind, uuid);
    this.#cache.delete(name);
    this.#cache.set(name, { askedMs: performance.now(), found });
    if (this.#cache.size > MAX_CACHED) this.#cache.delete(this.#cache.keys().next().value ?? "");
    found.catch(() => this.#cache.delete(name));
    return found;
  }
}
