/**
 * Transactions whose connection is lost say no more on it. The client would: it rolls back, writes to a socket that is
 * not there, and the error, raised in no query, ends the whole process (known as porsager/postgres#1208, in 3.4.9).
 */
import { setTimeout as wait } from "node:timers/promises";
import type postgres from "postgres";
import { codeOf, LOST } from "./fault-codes.ts";

/** Within which a connection that reported to be lost is closed. */
const CLOSING_MS = 5000;

type Begin = (...args: readonly unknown[]) => Promise<unknown>;
type Act = (tx: object) => unknown;

export function forgetLostTransactions<S extends postgres.Sql>(client: S): S {
  const begin = client.begin as unknown as Begin;
  return new Proxy(client, {
    get: (target, name) =>
      name === "begin" ? (...args: unknown[]) => beginForgetting(begin, args) : Reflect.get(target, name),
  });
}

function beginForgetting(begin: Begin, args: readonly unknown[]): Promise<unknown> {
  const act = args.at(-1) as Act;
  let isOver = false;
  const done = begin(...args.slice(0, -1), async (tx: object) => {
    const guarded = new Proxy(tx, {
      apply(target, self, given) {
        if (isOver) throw new ConnectionLost();
        return Reflect.apply(target as () => unknown, self, given);
      },
    });
    try {
      return await resolveAll(act(guarded));
    } catch (error) {
      // When the connection closes, `begin` rejects by itself, and nobody waits for this any more.
      if (LOST.has(codeOf(error))) await wait(CLOSING_MS, undefined, { ref: false });
      if (isOver) await new Promise(() => {});
      throw error;
    }
  });
  const end = () => {
    isOver = true;
  };
  done.then(end, end);
  return done;
}

/** As `begin` takes it: a promise, or a list of queries. */
const resolveAll = (result: unknown): unknown => (Array.isArray(result) ? Promise.all(result) : result);

class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";
  constructor() {
    super("the connection of this transaction was lost");
  }
}
