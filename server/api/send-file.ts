/** Files as answers: whole or in part, at the pace of the client. */
import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { ERRORS } from "../../schemas/errors.ts";
import { streamBody } from "../streams/body.ts";
import type { AnswerShape } from "./endpoint.ts";
import { PROBLEM_TYPE } from "./problem.ts";

export interface SentFile {
  readonly path: string;
  readonly type: string;
  /** It is sent up to here, however long it has become. */
  readonly bytes: number;
  /** Changes with its content: quoted, strong. */
  readonly etag: string;
  /** What it is saved as. */
  readonly name: string;
}

interface FileCall {
  readonly headers: Headers;
  readonly raw: IncomingMessage;
  readonly requestId: string;
}

const PIECE_BYTES = 262_144;

/** What endpoints that send files answer with, for the document. */
export const FILE_ANSWERS = (type: string): Readonly<Record<number, AnswerShape>> => ({
  200: { description: "The file.", mediaType: type },
  206: { description: "The part that `Range` asks for.", mediaType: type },
  304: { description: "The client has it already (`If-None-Match`)." },
});

/**
 * @param stallMs a client that takes nothing for so long is let go
 * Rejects with what the system says when the file cannot be opened.
 */
export async function sendFile(file: SentFile, call: FileCall, stallMs: number): Promise<Response> {
  const { bytes, etag } = file;
  const headers = headersOf(file);
  if (hasMatch(call.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  const range = readRange(call.headers.get("range"), call.headers.get("if-range"), etag, bytes);
  if (range === "none") return refuseRange(bytes, call.requestId);
  const { first, last } = range ?? { first: 0, last: bytes - 1 };
  const status = range === null ? 200 : 206;
  headers["Content-Type"] = file.type;
  headers["Content-Length"] = String(last - first + 1);
  if (range !== null) headers["Content-Range"] = `bytes ${first}-${last}/${bytes}`;
  if (call.raw.method === "HEAD" || bytes === 0) return new Response(null, { status, headers });
  const handle = await open(file.path, "r");
  return new Response(streamFile(handle, { first, last }, call.raw, stallMs), { status, headers });
}

function headersOf({ etag, name }: SentFile): Record<string, string> {
  return {
    ETag: etag,
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    "Content-Disposition": `attachment; filename="${name.replaceAll(/[^A-Za-z0-9._ -]/g, "_")}"; filename*=UTF-8''${encodeName(name)}`,
  };
}

/** RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

function streamFile(handle: FileHandle, { first, last }: ByteRange, raw: IncomingMessage, stallMs: number) {
  let at = first;
  let isClosed = false;
  const drop = () => void raw.socket.destroy();
  const next = async (): Promise<Uint8Array | null> => {
    if (at > last) return null;
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, last - at + 1));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    // Fewer than were promised: the client must not take it for the whole.
    if (bytesRead === 0) throw new Error("the file has become shorter");
    at += bytesRead;
    return piece.subarray(0, bytesRead);
  };
  const leave = () => {
    if (isClosed) return;
    isClosed = true;
    handle.close().catch(() => {});
  };
  return streamBody(
    {
      next: () =>
        next().catch((error: Error) => {
          leave();
          drop();
          throw error;
        }),
      leave,
    },
    { afterMs: stallMs, drop },
  );
}

function refuseRange(bytes: number, requestId: string): Response {
  const code = "range_not_satisfiable";
  const { status, title } = ERRORS[code];
  const detail = `The file has ${bytes} bytes; ask for a range within them.`;
  const problem = { type: `/docs/errors#${code}`, title, status, detail, code, request_id: requestId };
  const headers = { "Content-Type": PROBLEM_TYPE, "Content-Range": `bytes */${bytes}`, "Cache-Control": "no-store" };
  return new Response(JSON.stringify(problem), { status, headers });
}

/** A long answer, sent as it is made: in the memory of one piece, at the pace of its client, compressed where that is asked for. */

export interface Way {
  readonly raw: IncomingMessage;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
  onFault(error: unknown): void;
}

type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

/** Rejects when not even the first piece can be made: that is still an answer of its own. */
export async function startPieces(texts: AsyncGenerator<string>, isPacked: boolean): Promise<Pieces> {
  const pieces = toBytes(await texts.next(), texts);
  return isPacked ? pack(pieces) : pieces;
}

async function* toBytes(first: IteratorResult<string>, texts: AsyncGenerator<string>): Pieces {
  try {
    for (let next = first; next.done !== true; next = await texts.next()) yield Buffer.from(next.value);
  } finally {
    await texts.return(undefined);
  }
}

const CHUNK_BYTES = 128 * 1024;

async function* pack(pieces: Pieces): Pieces {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES });
  // What fails is told by reading: the pieces break off there.
  pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), gzip).catch(() => {});
  for await (const chunk of gzip) yield chunk as Uint8Array;
}

/** A file that breaks off breaks the connection off: nobody takes a part of it for the whole. */
export function sendPieces(pieces: Pieces, { raw, stallMs, onFault }: Way): ReadableStream<Uint8Array> {
  const drop = () => void raw.socket.destroy();
  const leave = () => void pieces.return(undefined).catch(() => {});
  const next = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = await pieces.next();
      return done ? null : value;
    } catch (error) {
      onFault(error);
      drop();
      throw error;
    }
  };
  return streamBody({ next, leave }, { afterMs: stallMs, drop });
}

/** Which part of a file a request asks for: RFC 9110, section 14. Pure. */

export interface ByteRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

const SINGLE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/**
 * Null: the whole, also where several parts are asked for, which a server may do. "none": a part that is not there.
 * @param condition `If-Range`: the file must still be what the client has a part of
 */
export function readRange(
  range: string | null,
  condition: string | null,
  etag: string,
  bytes: number,
): ByteRange | "none" | null {
  if (range === null || (condition !== null && condition.trim() !== etag)) return null;
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
export const hasMatch = (condition: string | null, etag: string): boolean =>
  (condition?.split(",") ?? []).some((part) => [etag, `W/${etag}`, "*"].includes(part.trim()));
