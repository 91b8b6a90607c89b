/**
 * A client of the API for browsers and Node:
 *
 *   const windhover = new Windhover({ url: "http://localhost:8080", apiKey: "wh_…" });
 *   const { process_uuid } = await windhover.startProcess({ source_uuid });
 */
import { type FollowOptions, followEvents } from "./follow-events.ts";
import { type AccountEvent, Operations } from "./operations.ts";
import { type ClientOptions, createTransport } from "./transport.ts";

export type { FollowOptions } from "./follow-events.ts";
export type { SocketOptions } from "./live.ts";
export { readMessages, sendMessages } from "./live.ts";
export type * from "./operations.ts";
export { API_VERSION } from "./operations.ts";
export type { Call, ClientOptions } from "./transport.ts";
export { ApiError, readApiError, readProblem } from "./transport.ts";
export { isFromWindhover } from "./webhooks.ts";

export class Windhover extends Operations {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    super(createTransport(options));
    this.#options = options;
  }

  /**
   * Events of the account, from now on or after one that you have, until the signal is aborted. It reconnects by itself and
   * then continues after the last event.
   */
  followEvents(follow: FollowOptions = {}): AsyncGenerator<AccountEvent, void> {
    return followEvents(this.#options, follow);
  }
}
