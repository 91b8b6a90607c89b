/**
 * RTSP 1.0 messages (RFC 2326): types, writers, and a reader that finds messages and interleaved packets in a byte stream.
 * Header names are in lower case. The reader's memory is limited for any input; frames share the input's bytes.
 */

export type Headers = ReadonlyMap<string, string>;

export interface RtspRequest {
  readonly kind: "request";
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export interface RtspResponse {
  readonly kind: "response";
  readonly status: number;
  readonly reason: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** An RTP or RTCP packet between two messages. */
export interface RtspFrame {
  readonly kind: "frame";
  readonly channel: number;
  readonly packet: Uint8Array;
}

export type RtspItem = RtspRequest | RtspResponse | RtspFrame;

/** The peer violates RTSP or exceeds a limit: the connection must close. */
export class RtspError extends Error {
  /** A server's last response. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  413: "Request Entity Too Large",
  414: "Request-URI Too Large",
  415: "Unsupported Media Type",
  453: "Not Enough Bandwidth",
  454: "Session Not Found",
  455: "Method Not Valid in This State",
  461: "Unsupported Transport",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  505: "RTSP Version Not Supported",
};

type Fields = Readonly<Record<string, string | number | null>>;

export const writeRequest = (method: string, url: string, headers: Fields, body = ""): Buffer =>
  write(`${method} ${url} RTSP/1.0`, headers, body);

/** `reason` is in the status line, which clients display. */
export const writeResponse = (status: number, reason: string | null, headers: Fields, body = ""): Buffer =>
  write(`RTSP/1.0 ${status} ${toPrintable(reason ?? REASONS[status] ?? "Error")}`, headers, body);

function write(first: string, headers: Fields, body: string): Buffer {
  const lines = [first];
  for (const [name, value] of Object.entries(headers))
    if (value !== null) lines.push(`${name}: ${toPrintable(String(value))}`);
  if (body !== "") lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** A value cannot end its line early. */
const toPrintable = (text: string): string => text.replace(/[^\x20-\x7e]+/g, " ");

const LINE_BYTES = 4096;
const HEADER_BYTES = 16_384;
const MAX_HEADERS = 64;
const BODY_BYTES = 65_536;
const DOLLAR = 0x24;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const FRAME_HEAD_BYTES = 4;

const REQUEST = /^([A-Z_]{1,32}) (\S+) (RTSP|HTTP)\/(\d+)\.(\d+)$/;
const RESPONSE = /^RTSP\/(\d+)\.\d+ (\d{3})(?: (.*))?$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):(.*)$/;

const NO_BYTES = Buffer.alloc(0);

export class MessageReader {
  #bytes: Buffer = NO_BYTES;
  /** They are in the memory of the last chunk. */
  #isLent = false;
  /** Where the next item starts. Moved by packets, of which one chunk has many; messages cut the bytes. */
  #at = 0;
  /** No empty line ends before this position. */
  #scanned = 0;
  /** Bytes that the next item needs at least. */
  #needed = 1;

  push(chunk: Buffer): void {
    this.#isLent = this.#at === this.#bytes.length;
    this.#bytes = this.#isLent ? chunk : Buffer.concat([this.#bytes.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /** Copies what is left of the last chunk, so that its memory can be used again. */
  keepRest(): void {
    if (!this.#isLent) return;
    const rest = this.#bytes.length - this.#at;
    this.#bytes = rest === 0 ? NO_BYTES : Buffer.from(this.#bytes.subarray(this.#at));
    this.#at = 0;
    this.#isLent = false;
  }

  /** The next item; null: more bytes are needed. After it has thrown an `RtspError`, the reader must not be used. */
  next(): RtspItem | null {
    this.#skipEmptyLines();
    if (this.#bytes.length - this.#at < this.#needed) return null;
    return this.#bytes[this.#at] === DOLLAR ? this.#nextFrame() : this.#nextMessage();
  }

  #skipEmptyLines(): void {
    let count = 0;
    while (this.#bytes[this.#at + count] === RETURN || this.#bytes[this.#at + count] === LINE_FEED) count++;
    if (count > 0) this.#consume(count);
  }

  #nextFrame(): RtspItem | null {
    const bytes = this.#bytes;
    const at = this.#at;
    const left = bytes.length - at;
    if (left < FRAME_HEAD_BYTES) return null;
    const length = FRAME_HEAD_BYTES + bytes.readUInt16BE(at + 2);
    if (left < length) return this.#await(length);
    const packet = bytes.subarray(at + FRAME_HEAD_BYTES, at + length);
    this.#consume(length);
    return { kind: "frame", channel: bytes[at + 1] as number, packet };
  }

  #nextMessage(): RtspItem | null {
    if (this.#at > 0) this.#bytes = this.#bytes.subarray(this.#at);
    this.#at = 0;
    const headBytes = this.#findEnd();
    if (headBytes === null) return null;
    const [first = "", ...lines] = this.#bytes.toString("latin1", 0, headBytes).split(/\r?\n/);
    const headers = readHeaders(lines.slice(0, -2));
    const end = headBytes + readLength(headers);
    if (this.#bytes.length < end) return this.#await(end);
    const body = Buffer.from(this.#bytes.subarray(headBytes, end));
    this.#consume(end);
    return readFirst(first, headers, body);
  }

  /** Position after the empty line that ends the headers. */
  #findEnd(): number | null {
    const bytes = this.#bytes;
    let lineBegin = this.#scanned;
    while (true) {
      const found = bytes.indexOf(LINE_FEED, lineBegin);
      const end = found === -1 ? bytes.length : found;
      if (end - lineBegin > LINE_BYTES)
        throw new RtspError(lineBegin === 0 ? 414 : 400, `a line has more than ${LINE_BYTES} bytes`);
      if (end > HEADER_BYTES) throw new RtspError(400, `the headers have more than ${HEADER_BYTES} bytes`);
      if (lineBegin === 0) expectText(bytes.subarray(0, end));
      if (found === -1 || end === lineBegin || (end === lineBegin + 1 && bytes[lineBegin] === RETURN)) {
        this.#scanned = lineBegin;
        return found === -1 ? null : end + 1;
      }
      lineBegin = end + 1;
    }
  }

  #await(bytes: number): null {
    this.#needed = bytes;
    return null;
  }

  #consume(bytes: number): void {
    this.#at += bytes;
    this.#scanned = 0;
    this.#needed = 1;
  }
}

/** Rejects binary data immediately, not after a whole line. */
function expectText(line: Uint8Array): void {
  for (let i = 0; i < Math.min(line.length, 16); i++) {
    const byte = line[i] as number;
    if ((byte < 0x20 || byte > 0x7e) && byte !== RETURN)
      throw new RtspError(400, "expected RTSP, received binary data");
  }
}

function readHeaders(lines: readonly string[]): Headers {
  if (lines.length > MAX_HEADERS) throw new RtspError(400, `more than ${MAX_HEADERS} headers`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new RtspError(400, "expected a header line 'Name: value'");
    const key = name.toLowerCase();
    const former = headers.get(key);
    // Repeated headers are joined (RFC 2616, 4.2), except the length.
    const text = trim(value);
    headers.set(key, former === undefined || key === "content-length" ? text : `${former}, ${text}`);
  }
  return headers;
}

function readLength(headers: Headers): number {
  const text = headers.get("content-length") ?? "0";
  if (!/^\d{1,9}$/.test(text)) throw new RtspError(400, "Content-Length is not a number");
  const length = Number(text);
  if (length > BODY_BYTES) throw new RtspError(413, `the body has more than ${BODY_BYTES} bytes`);
  return length;
}

function readFirst(first: string, headers: Headers, body: Uint8Array): RtspItem {
  const [, method, url, protocol, major] = REQUEST.exec(first) ?? [];
  if (method !== undefined && url !== undefined) {
    if (protocol !== "RTSP" || major !== "1") throw new RtspError(505, "expected RTSP/1.0");
    return { kind: "request", method, url, headers, body };
  }
  const [, , status, reason] = RESPONSE.exec(first) ?? [];
  if (status === undefined) throw new RtspError(400, "expected an RTSP request or response");
  return { kind: "response", status: Number(status), reason: reason ?? "", headers, body };
}

const isBlank = (text: string, at: number): boolean => text[at] === " " || text[at] === "\t";

/** Removes blanks at both ends in linear time: a regular expression would retry at every blank in the middle. */
function trim(text: string): string {
  let begin = 0;
  let end = text.length;
  while (begin < end && isBlank(text, begin)) begin++;
  while (end > begin && isBlank(text, end - 1)) end--;
  return text.slice(begin, end);
}
