/** HLS and WHEP are asked of the media hub over its Unix socket: whoever asks has been let in already. */
import { type IncomingMessage, request } from "node:http";
import { CLIENT_HEADER } from "../../schemas/hub.ts";
import { ServiceError } from "../service-error.ts";

export interface HubOrder {
  readonly method: "GET" | "POST" | "DELETE";
  /** With its query. */
  readonly target: string;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array };
  /** The address of the client. */
  readonly client?: string;
  /** The client has gone. */
  readonly signal: AbortSignal;
}

/** Resolves with the head of the answer; its body is the caller's to read or to destroy. Rejects with `media_unavailable`. */
export type AskHub = (order: HubOrder) => Promise<IncomingMessage>;

/** @param limitMs for the head of the answer, and then for each pause in its body */
export const askHubAt =
  (socketPath: string, limitMs: number): AskHub =>
  ({ method, target, body, client, signal }) =>
    new Promise((resolve, reject) => {
      const fail = (cause: Error) =>
        reject(new ServiceError("media_unavailable", { detail: unavailable(cause), retryAfterSeconds: 1, cause }));
      const headers = {
        ...(body !== undefined && { "content-type": body.type, "content-length": body.bytes.length }),
        ...(client !== undefined && { [CLIENT_HEADER]: client }),
      };
      const asked = request({ socketPath, path: target, method, headers, signal, agent: false, timeout: limitMs });
      asked.on("timeout", () => asked.destroy(new Error(`it did not answer within ${limitMs / 1000} s`)));
      asked.on("error", fail);
      asked.on("response", (answer) => {
        answer.on("error", () => {}); // seen by whoever reads it
        resolve(answer);
      });
      asked.end(body?.bytes);
    });

const unavailable = (cause: Error): string => {
  const code = (cause as NodeJS.ErrnoException).code;
  const isAway = code === "ECONNREFUSED" || code === "ENOENT" || code === "ECONNRESET";
  return `The media hub ${isAway ? "is being started again" : "does not answer"}; try again in a moment.`;
};
