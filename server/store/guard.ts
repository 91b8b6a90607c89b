/**
 * What stands between queries and a database that is away: a query waits briefly for one that is being restarted, and
 * rejects with `database_unavailable` when there is none, with `disk_full` when its disk is full.
 */
import { ServiceError } from "../service-error.ts";
import type { Sql } from "./client.ts";
import type { Clients } from "./clients.ts";
import { codeOf, LOST } from "./fault-codes.ts";

/** None can be had; or PostgreSQL is coming up, out of connections, too slow. */
const AWAY = new Set<unknown>([
  ...LOST,
  ...["CONNECTION_DESTROYED", "CONNECTION_ENDED", "CONNECT_TIMEOUT"],
  ...["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"],
  ...["57P03", "57014", "53300", "55P03"],
]);
const DISK_FULL = "53100";
const RETRY_AFTER_SECONDS = 2;

export const isAway = (error: unknown): boolean => AWAY.has(codeOf(error));

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

export function guardSql(clients: Clients, guard: Guard): GuardedSql {
  const underWay = new Set<Promise<unknown>>();
  const guarded = <T>(run: () => PromiseLike<T>, client: Sql, limitMs: number): Promise<T> => {
    const result = runGuarded(run, guard, limitMs, () => clients.replace(client));
    underWay.add(result);
    const forget = () => underWay.delete(result);
    result.then(forget, forget);
    return result;
  };
  const sql = new Proxy(noop, {
    apply(_, self, args) {
      const client = clients.current;
      const query: unknown = Reflect.apply(client, self, args);
      if (query instanceof Promise) guardThen(query, (run) => guarded(run, client, guard.limitMs));
      return query;
    },
    get(_, name) {
      const client = clients.current;
      const value: unknown = Reflect.get(client, name);
      if ((name !== "begin" && name !== "notify") || typeof value !== "function") return value;
      return (...args: unknown[]) => guarded(() => Reflect.apply(value, client, args), client, 3 * guard.limitMs);
    },
  }) as unknown as Sql;
  return { sql, settle: (limitMs) => within(Promise.allSettled(underWay), limitMs, noop).then(noop, noop) };
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

async function runGuarded<T>(
  run: () => PromiseLike<T>,
  { whenUp, waitMs }: Guard,
  limitMs: number,
  onLost: () => void,
): Promise<T> {
  if (whenUp !== null) {
    await within(whenUp(), waitMs, () => unavailable("The database is being restarted. Try again in a moment."));
  }
  try {
    return await within(run(), limitMs, () => new Silence());
  } catch (error) {
    if (error instanceof Silence || LOST.has(codeOf(error))) onLost();
    throw error instanceof Silence
      ? unavailable("The database does not answer. Try again in a moment.")
      : translate(error);
  }
}

/** Nothing was heard in time. */
class Silence extends Error {}

function within<T>(promise: PromiseLike<T>, limitMs: number, onLate: () => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onLate()), limitMs);
    promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
