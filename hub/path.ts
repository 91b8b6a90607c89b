/** Where a stream is published and played: `<username>/<stream path>`, as clients write it into addresses. */

export interface StreamPath {
  /** Without a slash at either end. */
  readonly path: string;
  /** `api_key` of the query. */
  readonly apiKey: string | null;
}

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._~-]*$/;
const MOST_CHARACTERS = 255;
/** Before it is unescaped and with its query. */
const MOST_RAW = 2048;

/** The part of an address after the host. Null when no stream can have it. */
export function readPath(raw: string): StreamPath | null {
  if (raw.length > MOST_RAW) return null;
  const mark = raw.indexOf("?");
  const segments = (mark === -1 ? raw : raw.slice(0, mark)).replace(/^\/|\/$/g, "").split("/");
  // Unescaped after it is split: an escaped slash never makes a segment of its own.
  const plain = segments.map(decode);
  if (plain.length < 2 || !plain.every((segment) => segment !== null && SEGMENT.test(segment))) return null;
  const path = plain.join("/");
  return path.length > MOST_CHARACTERS ? null : { path, apiKey: mark === -1 ? null : readKey(raw.slice(mark + 1)) };
}

/** Of a query without its question mark. Null for none, and for an empty one. */
export function readKey(query: string): string | null {
  for (const pair of query.split("&")) {
    const [name, value] = pair.split("=", 2);
    if (name === "api_key") return decode(value ?? "") || null;
  }
  return null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
