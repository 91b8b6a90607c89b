/** What a publisher asks for: clients split `rtmp://host/<username>/<path>?api_key=…` at different slashes. */
import { readKey, readPath } from "../path.ts";

export interface StreamAddress {
  /** `<username>/<stream path>`. */
  readonly path: string;
  /** The key or token that came with it, wherever it was put. */
  readonly secret: string | null;
}

export interface ConnectWords {
  /** Both as `connect` gave them. */
  readonly app: string;
  readonly tcUrl: string;
}

/** Null when no stream can have that path. */
export function readStreamAddress({ app, tcUrl }: ConnectWords, name: string): StreamAddress | null {
  const parts = [app, name].map((text) => split(text));
  const place = readPath(
    parts
      .map(({ path }) => path)
      .filter((path) => path !== "")
      .join("/"),
  );
  if (place === null) return null;
  const queries = [...parts.map(({ query }) => query).reverse(), split(tcUrl).query];
  const secret = firstOf(queries, readKey) ?? firstOf(queries, readPassword) ?? readUserinfo(tcUrl);
  return { path: place.path, secret };
}

function split(text: string): { path: string; query: string } {
  const mark = text.indexOf("?");
  const path = mark === -1 ? text : text.slice(0, mark);
  return { path: path.replace(/^\/+|(?<!\/)\/+$/g, ""), query: mark === -1 ? "" : text.slice(mark + 1) };
}

function firstOf(queries: readonly string[], read: (query: string) => string | null): string | null {
  for (const query of queries) {
    const found = read(query);
    if (found !== null) return found;
  }
  return null;
}

/** `user=…&pass=…`: what clients make of an address with a password. */
function readPassword(query: string): string | null {
  return new URLSearchParams(query).get("pass") || null;
}

function readUserinfo(tcUrl: string): string | null {
  const password = URL.canParse(tcUrl) ? new URL(tcUrl).password : "";
  try {
    return decodeURIComponent(password) || null;
  } catch {
    return null;
  }
}
