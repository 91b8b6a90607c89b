/**
 * HTTP on a Unix socket: the server forwards requests of authorized clients for HLS files, WebRTC viewers (WHEP) and
 * publishers (WHIP).
 */
import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { CLIENT_HEADER, KEY_HEADER, RECORDING_HEADER } from "../schemas/hub.ts";
import { describeBug, type HttpAnswer, INTERNAL_ERROR, StatusError, StreamRejected, textAnswer } from "./errors.ts";
import type { Hls } from "./hls/hls.ts";
import type { Log } from "./log.ts";
import { readPath } from "./path.ts";
import type { Relays } from "./relays.ts";
import type { Whep } from "./webrtc/whep.ts";

export interface HttpDeps {
  readonly socket: string;
  readonly hls: Pick<Hls, "answer">;
  readonly whep: Pick<Whep, "offer" | "publish" | "close">;
  /** Absent: there are no other nodes. */
  readonly relays?: Pick<Relays, "want"> | undefined;
  readonly log: Log;
}

/** Offers of browsers have a few kilobytes. */
const OFFER_BYTES = 65_536;
const REQUEST_MS = 10_000;

export async function openHttp(deps: HttpDeps): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    void serve(deps, request, response);
  });
  // A killed hub leaves its socket behind.
  await rm(deps.socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(deps.socket, resolve);
  });
  await chmod(deps.socket, 0o600);
  server.on("error", (error) => deps.log("error", "http socket failed", { error: error.message }));
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(deps: HttpDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const aborter = new AbortController();
  response.on("close", () => aborter.abort());
  response.on("error", () => {});
  const answer = await answerRequest(deps, request, aborter.signal).catch((error: unknown) =>
    answerError(deps.log, error),
  );
  if (response.destroyed) return;
  const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, { ...answer.headers, "content-length": body.length }).end(body);
}

async function answerRequest(
  { hls, whep, relays }: HttpDeps,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { method = "", url = "" } = request;
  const [target = "", query = ""] = url.split("?", 2);
  const [, service, ...rest] = target.split("/");
  switch (`${method} ${service}`) {
    case "GET hls":
      return hls.answer(toPath(rest.slice(0, -1)), rest.at(-1) ?? "", new URLSearchParams(query), signal);
    case "POST whep": {
      const path = toPath(rest);
      const offer = await readBody(request);
      await relays?.want(path);
      const { id, sdp } = await whep.offer(path, offer, header(request, CLIENT_HEADER), header(request, KEY_HEADER));
      const headers = { "content-type": "application/sdp", location: `/whep/${path}/${id}` };
      return { status: 201, headers, body: sdp };
    }
    case "POST whip": {
      const path = toPath(rest);
      const recording = header(request, RECORDING_HEADER) ?? null;
      const { id, sdp } = await whep.publish(path, await readBody(request), recording, header(request, KEY_HEADER));
      const headers = { "content-type": "application/sdp", location: `/whip/${path}/${id}` };
      return { status: 201, headers, body: sdp };
    }
    case "DELETE whip":
    case "DELETE whep": {
      const isClosed = whep.close(toPath(rest.slice(0, -1)), rest.at(-1) ?? "");
      return isClosed ? { status: 204, headers: {}, body: "" } : textAnswer(404, "the stream has no such session");
    }
    default:
      throw new StatusError(404, "unknown route");
  }
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toPath(segments: readonly string[]): string {
  const found = readPath(segments.join("/"));
  if (found === null) throw new StatusError(404, "not a valid stream path");
  return found.path;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > OFFER_BYTES) throw new StatusError(413, `the offer has more than ${OFFER_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function answerError(log: Log, error: unknown): HttpAnswer {
  if (error instanceof StreamRejected) {
    const status = error.kind === "not_live" ? 404 : error.kind === "busy" ? 423 : 503;
    return textAnswer(status, error.message);
  }
  if (error instanceof StatusError) return textAnswer(error.status, error.message);
  // The client has disconnected.
  if (error instanceof Error && error.name === "AbortError") return textAnswer(499, "");
  log("error", "http request failed", { error: describeBug(error) });
  return textAnswer(500, INTERNAL_ERROR);
}
