/**
 * What stands between queries and a database that is away: a query waits briefly for one that is being restarted, and
 * rejects with `database_unavailable` when there is none, with `disk_full` when its disk is full.
 */
import { ServiceError } from "../service-error.ts";
import type { Sql } from "./client.ts";

/** Of the client, of Node's sockets, and of PostgreSQL: going down, coming up, out of connections, too slow. */
const AWAY = new Set([
  ...["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_ENDED", "CONNECT_TIMEOUT"],
  ...[
    "ECONNREFUSED",
    "ECONNRESET",
    "EPIPE",
    "ENOENT",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
  ],
  ...["57P01", "57P02", "57P03", "57014", "53300", "55P03", "25P03"],
]);
const DISK_FULL = "53100";
const RETRY_AFTER_SECONDS = 2;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

export const isAway = (error: unknown): boolean => AWAY.has(codeOf(error) as string);

const unavailable = (detail: string, cause?: unknown): ServiceError =>
  new ServiceError("database_unavailable", { detail, retryAfterSeconds: RETRY_AFTER_SECONDS, cause });

export function translate(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (codeOf(error) === DISK_FULL) {
    return new ServiceError("disk_full", {
      detail: "The disk of the database is full. Make room on it.",
      cause: error,
    });
  }
  return isAway(error) ? unavailable("The database is away or too slow. Try again in a moment.", error) : error;
}

export interface Guard {
  /** Resolves at once when the database is up; null when nobody can tell. */
  readonly whenUp: (() => Promise<void>) | null;
  readonly waitMs: number;
  /** After so long a query that has heard nothing is given up; a whole transaction after three times as long. */
  readonly limitMs: number;
}

export interface GuardedSql {
  /** The same, guarded. Inside a transaction errors are as they come; what `begin` rejects with is translated. */
  readonly sql: Sql;
  /** Resolves when nothing is under way, or after the time given. */
  settle(limitMs: number): Promise<void>;
}

export function guardSql(sql: Sql, guard: Guard): GuardedSql {
  const underWay = new Set<Promise<unknown>>();
  const guarded = <T>(run: () => PromiseLike<T>, limitMs: number): Promise<T> => {
    const result = runGuarded(run, guard, limitMs);
    underWay.add(result);
    const forget = () => underWay.delete(result);
    result.then(forget, forget);
    return result;
  };
  const proxy = new Proxy(sql, {
    apply(target, self, args) {
      const query: unknown = Reflect.apply(target, self, args);
      if (query instanceof Promise) guardThen(query, (run) => guarded(run, guard.limitMs));
      return query;
    },
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if ((name !== "begin" && name !== "notify") || typeof value !== "function") return value;
      return (...args: unknown[]) => guarded(() => Reflect.apply(value, target, args), 3 * guard.limitMs);
    },
  });
  return { sql: proxy, settle: (limitMs) => within(Promise.allSettled(underWay), limitMs, "").then(noop, noop) };
}

const noop = () => {};

/** The client sends a query when somebody first asks for its result, so that is where waiting has to happen. */
function guardThen(query: Promise<unknown>, guarded: (run: () => PromiseLike<unknown>) => Promise<unknown>): void {
  const send = query.then;
  let result: Promise<unknown> | null = null;
  const then: typeof query.then = (onResult, onError) => {
    result ??= guarded(() => new Promise((resolve, reject) => Reflect.apply(send, query, [resolve, reject])));
    return result.then(onResult, onError);
  };
  // biome-ignore lint/suspicious/noThenProperty: the query is a promise already.
  Object.defineProperty(query, "then", { value: then });
}

async function runGuarded<T>(run: () => PromiseLike<T>, { whenUp, waitMs }: Guard, limitMs: number): Promise<T> {
  if (whenUp !== null) await within(whenUp(), waitMs, "The database is being restarted. Try again in a moment.");
  try {
    return await within(run(), limitMs, "The database does not answer. Try again in a moment.");
  } catch (error) {
    throw translate(error);
  }
}

function within<T>(promise: PromiseLike<T>, limitMs: number, detail: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable(detail)), limitMs);
    promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
