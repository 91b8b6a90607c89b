/** Paths of sources and outputs that are watched: HLS is asked for many times a second, the database is not. */
import type { Sql } from "../store/client.ts";
import { findHubPath, type PathOwner } from "../store/hub-paths.ts";
import type { Watched } from "./watch-urls.ts";

/** A deletion or a revoked key is honoured as late as this, no later. */
const FRESH_MS = 1000;
const MOST_KNOWN = 2000;

interface Known {
  readonly askedMs: number;
  readonly found: Promise<PathOwner | null>;
}

export class WatchedPaths {
  readonly #sql: Sql;
  readonly #known = new Map<string, Known>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Null when there is none, or the key of its owner is not good any more. */
  find(kind: Watched, uuid: string): Promise<PathOwner | null> {
    const name = `${kind}/${uuid}`;
    const known = this.#known.get(name);
    if (known !== undefined && performance.now() - known.askedMs < FRESH_MS) return known.found;
    const found = findHubPath(this.#sql, kind, uuid);
    this.#known.delete(name);
    this.#known.set(name, { askedMs: performance.now(), found });
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value ?? "");
    found.catch(() => this.#known.delete(name));
    return found;
  }
}
