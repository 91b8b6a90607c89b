/**
 * Queries of a database that may be down: a query waits briefly for a restart, rejects with `database_unavailable` if the
 * database does not come up, and with `disk_full` if its disk is full.
 */
import { ServiceError } from "../service-error.ts";
import { type Clients, codeOf, LOST, type Sql } from "./client.ts";

/** No connection; or PostgreSQL is starting, out of connections, or too slow. */
const UNAVAILABLE = new Set<unknown>([
  ...LOST,
  ...["CONNECTION_DESTROYED", "CONNECTION_ENDED", "CONNECT_TIMEOUT"],
  ...["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"],
  ...["57P03", "57014", "53300", "55P03"],
]);
const DISK_FULL = "53100";
const RETRY_AFTER_SECONDS = 2;

export const isUnavailable = (error: unknown): boolean => UNAVAILABLE.has(codeOf(error));

const unavailable = (detail: string, cause?: unknown): ServiceError =>
  new ServiceError("database_unavailable", { detail, retryAfterSeconds: RETRY_AFTER_SECONDS, cause });

export function translate(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (codeOf(error) === DISK_FULL) {
    return new ServiceError("disk_full", {
      detail: "The disk of the database is full. Free space on it.",
      cause: error,
    });
  }
  return isUnavailable(error)
    ? unavailable("The database is unavailable or too slow. Try again in a moment.", error)
    : error;
}

export interface Guard {
  /** Resolves when the database is up; null if it is, or if that is not known. */
  whenUp(): Promise<unknown> | null;
  readonly waitMs: number;
  /** Time limit of a query; three times as long for a transaction. */
  readonly limitMs: number;
}

/**
 * Inside a transaction errors are unchanged; `begin` rejects with the translated error. `settle` resolves when no query is
 * running, or after the given time.
 */
export function guardSql(clients: Clients, guard: Guard) {
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
  return {
    sql,
    settle: (limitMs: number): Promise<void> => within(Promise.allSettled(underWay), limitMs, noop).then(noop, noop),
  };
}

const noop = () => {};

/** The client sends a query on the first `then`: that is where it has to wait. */
function guardThen(query: Promise<unknown>, guarded: (run: () => PromiseLike<unknown>) => Promise<unknown>): void {
  const send = query.then;
  let result: Promise<unknown> | null = null;
  const then: typeof query.then = (onResult, onError) => {
    result ??= guarded(() => new Promise((resolve, reject) => Reflect.apply(send, query, [resolve, reject])));
    return result.then(onResult, onError);
  };
  // biome-ignore lint/suspicious/noThenProperty: the query is a promise.
  Object.defineProperty(query, "then", { value: then });
}

async function runGuarded<T>(run: () => PromiseLike<T>, guard: Guard, limitMs: number, onLost: () => void): Promise<T> {
  const starting = guard.whenUp();
  if (starting !== null)
    await within(starting, guard.waitMs, () => unavailable("The database is being restarted. Try again in a moment."));
  try {
    return await within(run(), limitMs, () => new NoResponse());
  } catch (error) {
    if (error instanceof NoResponse || LOST.has(codeOf(error))) onLost();
    throw error instanceof NoResponse
      ? unavailable("The database does not respond. Try again in a moment.")
      : translate(error);
  }
}

/** No response in time. */
class NoResponse extends Error {}

function within<T>(promise: PromiseLike<T>, limitMs: number, onLate: () => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onLate()), limitMs);
    promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
