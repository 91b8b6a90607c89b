/**
 * What sockets and timers call on behalf of one connection goes through a guard: a fault of ours costs that connection, and
 * not the hub with every stream in it.
 */
import type { Log } from "./log.ts";

export type Guard = <A extends readonly unknown[]>(work: (...given: A) => void) => (...given: A) => void;

/** `fail` ends the connection, and logs what is our fault. */
export const guardBy =
  (fail: (error: unknown) => void): Guard =>
  (work) =>
  (...given) => {
    try {
      work(...given);
    } catch (error) {
      fail(error);
    }
  };

/** The last line: what no guard has caught, promises and all, is logged, and the hub goes on. */
export function outliveFaults(log: Log): void {
  process.on("uncaughtException", (error) => log("error", "a fault of the media hub", { error: describeFault(error) }));
}

export const describeFault = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
