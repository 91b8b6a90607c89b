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
