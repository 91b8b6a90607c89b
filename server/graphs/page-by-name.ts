/** Pages of things that have names instead of times, in the order in which they are listed. */
import { ServiceError } from "../service-error.ts";
import type { Page, PageRequest } from "../store/page.ts";

export function pageByName<T extends { readonly name: string }>(
  all: readonly T[],
  { limit, cursor }: PageRequest,
): Page<T> {
  const start = cursor === undefined ? 0 : all.findIndex(({ name }) => name === readCursor(cursor)) + 1;
  if (cursor !== undefined && start === 0) throw badCursor();
  const rows = all.slice(start, limit === undefined ? undefined : start + limit);
  const last = rows.at(-1);
  const isMore = last !== undefined && start + rows.length < all.length;
  return { rows, nextCursor: isMore ? Buffer.from(last.name).toString("base64url") : null };
}

const readCursor = (cursor: string): string => Buffer.from(cursor, "base64url").toString("utf8");

function badCursor(): ServiceError {
  const message = "expected the `next_cursor` of an earlier answer; leave it out to begin at the first page";
  return new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}
