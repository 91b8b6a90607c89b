/** Whoever was let in by a key must go when the key, or what the path was registered for, is gone. */
import type { Logger } from "pino";
import { Poller } from "../async/poller.ts";
import type { Sql } from "../store/client.ts";
import { judgePaths } from "../store/hub-paths.ts";

interface UpkeepParts {
  readonly sql: Sql;
  readonly log: Logger;
  readonly everyMs: number;
  livePaths(): readonly string[];
  expel(path: string, reason: string): void;
}

/** Whoever was let in has published or played by then, or is gone. */
const IDLE_MS = 60_000;

export class Upkeep {
  readonly #parts: UpkeepParts;
  /** Where somebody was let in by a key since they were last sent away: runners with rights of their own stay. */
  readonly #keyed = new Map<string, number>();
  readonly #looking: Poller;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#looking = new Poller(() => this.#attempt());
    this.#looking.start(parts.everyMs);
  }

  noteKeyUsed(path: string): void {
    this.#keyed.set(path, performance.now());
  }

  close(): Promise<void> {
    return this.#looking.close();
  }

  async look(): Promise<void> {
    const { sql, expel, livePaths, log } = this.#parts;
    const live = new Set(livePaths());
    const paths = [...this.#keyed.keys()].filter((path) => live.has(path));
    for (const { path, isKeyGood, isNamed } of await judgePaths(sql, paths)) {
      if (isKeyGood && isNamed) continue;
      const reason = isKeyGood ? "its source or output was deleted" : "its key was revoked or has expired";
      this.#keyed.delete(path);
      log.info({ path, reason }, "those at a path were sent away");
      expel(path, reason);
    }
    const beforeMs = performance.now() - IDLE_MS;
    for (const [path, usedMs] of this.#keyed) if (usedMs < beforeMs && !live.has(path)) this.#keyed.delete(path);
  }

  async #attempt(): Promise<number> {
    const { everyMs, log } = this.#parts;
    try {
      await this.look();
    } catch (error) {
      log.warn({ err: error }, "whether those at the media hub may stay could not be found out; it is tried again");
    }
    return everyMs;
  }
}
