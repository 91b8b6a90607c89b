/** Messages of RTSP 1.0 (RFC 2326). Names of headers are kept in lower case. */

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

/** A packet of RTP or RTCP between two messages. */
export interface RtspFrame {
  readonly kind: "frame";
  readonly channel: number;
  readonly packet: Uint8Array;
}

export type RtspItem = RtspRequest | RtspResponse | RtspFrame;

/** The other side does not keep to RTSP, or asks for more than is given. The connection cannot go on. */
export class RtspFault extends Error {
  /** What a server answers before it closes. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const REASONS: Readonly<Record<number, string>> = {
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

/** `reason` stands in the status line, where clients show it. */
export const writeResponse = (status: number, reason: string | null, headers: Fields, body = ""): Buffer =>
  write(`RTSP/1.0 ${status} ${plain(reason ?? REASONS[status] ?? "Error")}`, headers, body);

function write(first: string, headers: Fields, body: string): Buffer {
  const lines = [first];
  for (const [name, value] of Object.entries(headers))
    if (value !== null) lines.push(`${name}: ${plain(String(value))}`);
  if (body !== "") lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** Nothing that is written can end a line early. */
const plain = (text: string): string => text.replace(/[^\x20-\x7e]+/g, " ");
