/** What the server asks for on the Unix socket, for clients that it has let in: HLS files and viewers by WebRTC. */
import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { CLIENT_HEADER } from "../schemas/hub.ts";
import type { Log } from "./log.ts";
import { readPath } from "./path.ts";
import { StreamRefusal } from "./streams.ts";
import { WhepRefusal } from "./webrtc/refusal.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface HttpParts {
  readonly socket: string;
  readonly hls: {
    answer(path: string, file: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer>;
  };
  readonly whep: {
    offer(path: string, sdp: string, client?: string): Promise<{ id: string; sdp: string }>;
    /** False when this stream has no such viewer. */
    close(path: string, id: string): boolean;
  };
  readonly log: Log;
}

/** Offers of browsers have a few kilobytes. */
const OFFER_BYTES = 65_536;
const REQUEST_MS = 10_000;

/** An answer that is no success, as text. */
class HttpRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function openHttp(parts: HttpParts): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    void serve(parts, request, response);
  });
  // One that was killed has left it behind.
  await rm(parts.socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(parts.socket, resolve);
  });
  await chmod(parts.socket, 0o600);
  server.on("error", (error) => parts.log("error", "the socket for HLS and WebRTC failed", { error: error.message }));
  return { close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function serve(parts: HttpParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const aborter = new AbortController();
  response.on("close", () => aborter.abort());
  response.on("error", () => {});
  const answer = await answerRequest(parts, request, aborter.signal).catch((error: unknown) =>
    refuse(parts.log, error),
  );
  if (response.destroyed) return;
  const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, { ...answer.headers, "content-length": body.length }).end(body);
}

async function answerRequest(parts: HttpParts, request: IncomingMessage, signal: AbortSignal): Promise<HttpAnswer> {
  const { method = "", url = "" } = request;
  const [target = "", query = ""] = url.split("?", 2);
  const [, service, ...rest] = target.split("/");
  switch (`${method} ${service}`) {
    case "GET hls":
      return parts.hls.answer(toPath(rest.slice(0, -1)), rest.at(-1) ?? "", new URLSearchParams(query), signal);
    case "POST whep":
      return offer(parts, toPath(rest), await readBody(request), request.headers[CLIENT_HEADER]);
    case "DELETE whep": {
      const isClosed = parts.whep.close(toPath(rest.slice(0, -1)), rest.at(-1) ?? "");
      return isClosed ? { status: 204, headers: {}, body: "" } : text(404, "this stream has no such viewer");
    }
    default:
      throw new HttpRefusal(404, "there is nothing of that name");
  }
}

async function offer(
  { whep }: HttpParts,
  path: string,
  sdp: string,
  client: string | readonly string[] | undefined,
): Promise<HttpAnswer> {
  const answer = await whep.offer(path, sdp, typeof client === "string" ? client : undefined);
  const headers = { "content-type": "application/sdp", location: `/whep/${path}/${answer.id}` };
  return { status: 201, headers, body: answer.sdp };
}

function toPath(segments: readonly string[]): string {
  const found = readPath(segments.join("/"));
  if (found === null) throw new HttpRefusal(404, "no stream can have this path");
  return found.path;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > OFFER_BYTES) throw new HttpRefusal(413, `an offer of more than ${OFFER_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function refuse(log: Log, error: unknown): HttpAnswer {
  if (error instanceof StreamRefusal) return text(error.kind === "not_live" ? 404 : 503, error.message);
  if (error instanceof HttpRefusal || error instanceof WhepRefusal) return text(error.status, error.message);
  // Whoever asked has gone.
  if (error instanceof Error && error.name === "AbortError") return text(499, "");
  log("error", "a request for HLS or WebRTC failed", { error: error instanceof Error ? error.stack : String(error) });
  return text(500, "a fault of the media hub");
}

const text = (status: number, body: string): HttpAnswer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  body,
});
