import { RequestRejected } from "../../../ipc/channel.ts";
import type { RunnerRequest } from "../../../schemas/runner.ts";

export interface RequestHandler {
  /** Called at once, while earlier requests are pending, which it may abort. */
  onArrival(request: RunnerRequest): void;
  /** Called when earlier requests are done. Rejects with a `RequestRejected` for expected errors. */
  handle(request: RunnerRequest): Promise<unknown>;
}

const MAX_PENDING = 64;

/** Requests of the server, handled one at a time in their order. */
export class RequestQueue {
  readonly #handler: RequestHandler;
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  constructor(handler: RequestHandler) {
    this.#handler = handler;
  }

  async add(request: RunnerRequest): Promise<unknown> {
    if (this.#pending >= MAX_PENDING) throw new RequestRejected("busy", `request limit reached (${MAX_PENDING})`);
    this.#pending += 1;
    this.#handler.onArrival(request);
    const done = this.#last.then(() => this.#handler.handle(request));
    this.#last = done.catch(() => {});
    return done.finally(() => {
      this.#pending -= 1;
    });
  }
}
