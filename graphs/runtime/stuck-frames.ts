/** Notices handlers that keep frames waiting: logged once per call, and a failure where there is a limit. */
import { GraphFailure } from "./events.ts";
import type { BoundHandler } from "./handlers.ts";
import { LIMITS } from "./limits.ts";

export interface StuckFrameOptions {
  /** After how long it is a failure; null: never, since a reader of standard output may take its time. */
  readonly limitMs: number | null;
  /** By the names of their nodes in the pipeline. */
  handlers(): Iterable<readonly [node: string, handler: BoundHandler]>;
  warn(author: string, message: string): void;
  fail(node: string, failure: GraphFailure): void;
}

const CHECKS = 4;

export class StuckFrames {
  readonly #options: StuckFrameOptions;
  readonly #slowMs: number;
  readonly #timer: NodeJS.Timeout;
  /** Calls that have been dealt with. */
  readonly #warned = new WeakSet<object>();
  readonly #failed = new WeakSet<object>();

  constructor(options: StuckFrameOptions) {
    this.#options = options;
    this.#slowMs = Math.min(LIMITS.slowFrameMs, (options.limitMs ?? Number.POSITIVE_INFINITY) / 2);
    this.#timer = setInterval(() => this.#check(), Math.min(1_000, this.#slowMs / CHECKS));
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { limitMs, handlers, warn, fail } = this.#options;
    for (const [node, handler] of handlers()) {
      const call = handler.oldestCall;
      if (call === null) continue;
      const waitedMs = performance.now() - call.sinceMs;
      const author = handler.services.node;
      if (limitMs !== null && waitedMs >= limitMs && !this.#failed.has(call)) {
        this.#failed.add(call);
        fail(node, new GraphFailure(author, `${call.name}() did not settle within ${limitMs / 1000} s`));
      } else if (waitedMs >= this.#slowMs && !this.#warned.has(call)) {
        this.#warned.add(call);
        warn(author, `${call.name}() has not settled for ${Math.round(waitedMs / 1000)} s; frames wait for it`);
      }
    }
  }
}
