/** Files as answers: whole or in part, at the pace of the client. */
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { ERRORS } from "../../schemas/errors.ts";
import { streamBody } from "../streams/body.ts";
import { type ByteRange, hasMatch, readRange } from "./byte-range.ts";
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
