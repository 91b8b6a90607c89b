/** Files and generated text as streamed answers, at the speed of the client; byte ranges (RFC 9110, section 14). */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { type ByteRange, type Pieces, readFile } from "../files/file-store.ts";
import { problemResponse } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import { streamBody } from "../streams/body.ts";
import type { ApiCall } from "./context.ts";
import type { AnswerShape } from "./endpoint.ts";

interface SentFile {
  readonly path: string;
  /** Where it is not a local file: a range of its content. */
  readonly read?: (range: ByteRange) => Promise<Pieces>;
  readonly type: string;
  /** Size to send: the file may have grown since. */
  readonly bytes: number;
  /** Strong, in quotes. */
  readonly etag: string;
  /** File name for the download. */
  readonly name: string;
}

/** Answers of endpoints that send files, for the OpenAPI document. `more`: further types. */
export function FILE_ANSWERS(type: string, ...more: readonly string[]): Readonly<Record<number, AnswerShape>> {
  const others = Object.fromEntries(more.map((other) => [other, {}]));
  return {
    200: { description: "The file.", mediaType: type, ...(more.length > 0 && { others }) },
    206: { description: "The part selected by `Range`.", mediaType: type, ...(more.length > 0 && { others }) },
    304: { description: "Not modified (`If-None-Match`)." },
  };
}

/**
 * Rejects with the system error if the file cannot be opened.
 * @param stallMs a client that reads nothing for this long is disconnected
 */
export async function sendFile(
  file: SentFile,
  call: Pick<ApiCall, "raw" | "requestId">,
  stallMs: number,
): Promise<Response> {
  const { bytes, etag } = file;
  const { range: asked, "if-range": condition, "if-none-match": known } = call.raw.headers;
  const headers = headersOf(file);
  if (hasMatch(known, etag)) return new Response(null, { status: 304, headers });
  const range = readRange(asked, condition?.toString(), etag, bytes);
  if (range === "none") return rejectRange(bytes, call.requestId);
  const { first, last } = range ?? { first: 0, last: bytes - 1 };
  const status = range === null ? 200 : 206;
  headers["Content-Type"] = file.type;
  headers["Content-Length"] = String(last - first + 1);
  if (range !== null) headers["Content-Range"] = `bytes ${first}-${last}/${bytes}`;
  if (call.raw.method === "HEAD" || bytes === 0) return new Response(null, { status, headers });
  const pieces = (await file.read?.({ first, last })) ?? (await readFile(file.path, { first, last }));
  return new Response(sendPieces(pieces, { raw: call.raw, stallMs }), { status, headers });
}

function headersOf({ etag, name }: SentFile): Record<string, string> {
  return {
    ETag: etag,
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    "Content-Disposition": attachmentOf(name),
  };
}

const attachmentOf = (name: string): string =>
  `attachment; filename="${name.replaceAll(/[^A-Za-z0-9._ -]/g, "_")}"; filename*=UTF-8''${encodeName(name)}`;

/** A file that is made while it is sent: of unknown length, and without ranges. Rejects if its first piece cannot be made. */
export async function sendMade(
  pieces: Pieces,
  { type, name }: Pick<SentFile, "type" | "name">,
  { raw }: Pick<ApiCall, "raw">,
  stallMs: number,
): Promise<Response> {
  const headers = {
    "Content-Type": type,
    "Cache-Control": "private, no-cache",
    "Content-Disposition": attachmentOf(name),
  };
  const first = await pieces.next();
  if (raw.method === "HEAD") {
    await pieces.return(undefined);
    return new Response(null, { headers });
  }
  return new Response(sendPieces(resume(first, pieces), { raw, stallMs }), { headers });
}

async function* resume(first: IteratorResult<Uint8Array>, pieces: Pieces): Pieces {
  try {
    for (let next = first; next.done !== true; next = await pieces.next()) yield next.value;
  } finally {
    await pieces.return(undefined);
  }
}

/** RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

function rejectRange(bytes: number, requestId: string): Response {
  const detail = `The file has ${bytes} bytes; request a range within them.`;
  const error = new ServiceError("range_not_satisfiable", { detail });
  return problemResponse(error, requestId, { "Content-Range": `bytes */${bytes}` });
}

interface PieceOptions {
  readonly raw: IncomingMessage;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
  onFault?(error: unknown): void;
}

/** Sends a long answer with one piece in memory. A fault closes the connection: the client must not take a part for the whole. */
export function sendPieces(pieces: Pieces, { raw, stallMs, onFault }: PieceOptions): ReadableStream<Uint8Array> {
  const drop = () => void raw.socket.destroy();
  const leave = () => void pieces.return(undefined).catch(() => {});
  // Started here: the `finally` of a generator that was never started does not run.
  let first: ReturnType<Pieces["next"]> | null = pieces.next();
  first.catch(() => {});
  const next = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = await (first ?? pieces.next());
      first = null;
      return done ? null : value;
    } catch (error) {
      onFault?.(error);
      drop();
      throw error;
    }
  };
  return streamBody({ next, leave }, { afterMs: stallMs, drop });
}

/** Generated text as bytes, compressed on request. Rejects if the first piece cannot be made: the client then gets an error answer. */
export async function startPieces(texts: AsyncGenerator<string>, isGzip: boolean): Promise<Pieces> {
  const pieces = toBytes(await texts.next(), texts);
  return isGzip ? compressPieces(pieces) : pieces;
}

async function* toBytes(first: IteratorResult<string>, texts: AsyncGenerator<string>): Pieces {
  try {
    for (let next = first; next.done !== true; next = await texts.next()) yield Buffer.from(next.value);
  } finally {
    await texts.return(undefined);
  }
}

const CHUNK_BYTES = 128 * 1024;

async function* compressPieces(pieces: Pieces): Pieces {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES });
  // A failure also ends the loop below.
  pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), gzip).catch(() => {});
  for await (const chunk of gzip) yield chunk as Uint8Array;
}

const SINGLE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/**
 * Null: the whole file, also for a request of several ranges, as RFC 9110 allows. "none": a range outside the file.
 * @param condition `If-Range`: the range applies only if the ETag is unchanged
 */
export function readRange(
  range: string | undefined,
  condition: string | undefined,
  etag: string,
  bytes: number,
): ByteRange | "none" | null {
  if (range === undefined || (condition !== undefined && condition.trim() !== etag)) return null;
  const [, firstText, lastText] = SINGLE.exec(range) ?? [];
  if (firstText === undefined || lastText === undefined || (firstText === "" && lastText === "")) return null;
  if (firstText === "") {
    const count = Math.min(Number(lastText), bytes);
    return count === 0 ? "none" : { first: bytes - count, last: bytes - 1 };
  }
  const first = Number(firstText);
  const last = lastText === "" ? bytes - 1 : Math.min(Number(lastText), bytes - 1);
  if (lastText !== "" && Number(lastText) < first) return null;
  return first >= bytes ? "none" : { first, last };
}

/** `If-None-Match`. */
export const hasMatch = (condition: string | undefined, etag: string): boolean =>
  (condition?.split(",") ?? []).some((part) => [etag, `W/${etag}`, "*"].includes(part.trim()));
