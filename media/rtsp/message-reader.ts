/**
 * Finds messages and packets in what comes over an RTSP connection, however it is cut. Whatever is sent, no more is kept
 * than the limits say. Frames and bodies share the bytes they came in.
 */
import { type Headers, RtspFault, type RtspItem } from "./message.ts";

const LINE_BYTES = 4096;
const HEADER_BYTES = 16_384;
const MOST_HEADERS = 64;
const BODY_BYTES = 65_536;
const DOLLAR = 0x24;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const FRAME_HEAD_BYTES = 4;

const REQUEST = /^([A-Z_]{1,32}) (\S+) (RTSP|HTTP)\/(\d+)\.(\d+)$/;
const RESPONSE = /^RTSP\/(\d+)\.\d+ (\d{3})(?: (.*))?$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):(.*)$/;

export class MessageReader {
  #bytes: Buffer = Buffer.alloc(0);
  /** Up to here no empty line was found. */
  #scanned = 0;
  /** With fewer there is nothing to be found. */
  #needed = 1;

  push(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  /** The next one, or null until more comes. Throws an `RtspFault`, after which it must not be used any more. */
  next(): RtspItem | null {
    this.#skipEmptyLines();
    const bytes = this.#bytes;
    if (bytes.length < this.#needed) return null;
    return bytes[0] === DOLLAR ? this.#nextFrame() : this.#nextMessage();
  }

  #skipEmptyLines(): void {
    let at = 0;
    while (this.#bytes[at] === RETURN || this.#bytes[at] === LINE_FEED) at++;
    if (at > 0) this.#consume(at);
  }

  #nextFrame(): RtspItem | null {
    const bytes = this.#bytes;
    if (bytes.length < FRAME_HEAD_BYTES) return null;
    const end = FRAME_HEAD_BYTES + bytes.readUInt16BE(2);
    if (bytes.length < end) return this.#await(end);
    const packet = bytes.subarray(FRAME_HEAD_BYTES, end);
    this.#consume(end);
    return { kind: "frame", channel: bytes[1] as number, packet };
  }

  #nextMessage(): RtspItem | null {
    const headBytes = this.#findEnd();
    if (headBytes === null) return null;
    const [first = "", ...lines] = this.#bytes.toString("latin1", 0, headBytes).split(/\r?\n/);
    const headers = readHeaders(lines.slice(0, -2));
    const end = headBytes + readLength(headers);
    if (this.#bytes.length < end) return this.#await(end);
    const body = this.#bytes.subarray(headBytes, end);
    this.#consume(end);
    return readFirst(first, headers, body);
  }

  /** Where the empty line after the headers ends. */
  #findEnd(): number | null {
    const bytes = this.#bytes;
    let lineBegin = this.#scanned;
    while (true) {
      const end = bytes.indexOf(LINE_FEED, lineBegin);
      if ((end === -1 ? bytes.length : end) - lineBegin > LINE_BYTES)
        throw new RtspFault(lineBegin === 0 ? 414 : 400, `a line of more than ${LINE_BYTES} bytes`);
      if ((end === -1 ? bytes.length : end) > HEADER_BYTES)
        throw new RtspFault(400, `headers of more than ${HEADER_BYTES} bytes`);
      if (end === -1) {
        this.#scanned = lineBegin;
        if (lineBegin === 0) refuseGarbage(bytes);
        return null;
      }
      if (lineBegin === 0) refuseGarbage(bytes.subarray(0, end));
      const isEmpty = end === lineBegin || (end === lineBegin + 1 && bytes[lineBegin] === RETURN);
      if (isEmpty) {
        this.#scanned = lineBegin;
        return end + 1;
      }
      lineBegin = end + 1;
    }
  }

  #await(bytes: number): null {
    this.#needed = bytes;
    return null;
  }

  #consume(bytes: number): void {
    this.#bytes = this.#bytes.subarray(bytes);
    this.#scanned = 0;
    this.#needed = 1;
  }
}

/** Said at once, and not when a line's worth of it has come. */
function refuseGarbage(line: Uint8Array): void {
  for (let i = 0; i < Math.min(line.length, 16); i++) {
    const byte = line[i] as number;
    if ((byte < 0x20 || byte > 0x7e) && byte !== RETURN)
      throw new RtspFault(400, "RTSP was expected, something else came");
  }
}

function readHeaders(lines: readonly string[]): Headers {
  if (lines.length > MOST_HEADERS) throw new RtspFault(400, `more than ${MOST_HEADERS} headers`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new RtspFault(400, "a header that is none");
    const key = name.toLowerCase();
    const former = headers.get(key);
    // As if they had come in one line (RFC 2616, 4.2). Of a length there is one, and of a challenge the lines differ.
    const text = trim(value);
    headers.set(key, former === undefined || key === "content-length" ? text : `${former}, ${text}`);
  }
  return headers;
}

function readLength(headers: Headers): number {
  const text = headers.get("content-length") ?? "0";
  if (!/^\d{1,9}$/.test(text)) throw new RtspFault(400, "a Content-Length that is no number");
  const length = Number(text);
  if (length > BODY_BYTES) throw new RtspFault(413, `a body of more than ${BODY_BYTES} bytes`);
  return length;
}

function readFirst(first: string, headers: Headers, body: Uint8Array): RtspItem {
  const [, method, url, protocol, major] = REQUEST.exec(first) ?? [];
  if (method !== undefined && url !== undefined) {
    if (protocol !== "RTSP" || major !== "1") throw new RtspFault(505, "RTSP/1.0 was expected");
    return { kind: "request", method, url, headers, body };
  }
  const [, , status, reason] = RESPONSE.exec(first) ?? [];
  if (status === undefined) throw new RtspFault(400, "neither a request nor an answer of RTSP");
  return { kind: "response", status: Number(status), reason: reason ?? "", headers, body };
}

const isBlank = (text: string, at: number): boolean => text[at] === " " || text[at] === "\t";

/** Blanks at both ends, each looked at once: a pattern would try anew at every blank in the middle. */
function trim(text: string): string {
  let begin = 0;
  let end = text.length;
  while (begin < end && isBlank(text, begin)) begin++;
  while (end > begin && isBlank(text, end - 1)) end--;
  return text.slice(begin, end);
}
