/**
 * A client of the API for browsers and Node:
 *
 *   const windhover = new Windhover({ url: "http://localhost:8080", apiKey: "wh_…" });
 *   const { process_uuid } = await windhover.startProcess({ source_uuid });
 */
import { Operations } from "./operations.ts";
import { type ClientOptions, createTransport } from "./transport.ts";

export { readMessages } from "./live.ts";
export type * from "./operations.ts";
export { API_VERSION } from "./operations.ts";
export type { Call, ClientOptions } from "./transport.ts";
export { ApiError, readApiError, readProblem } from "./transport.ts";
export { isFromWindhover } from "./webhooks.ts";

export class Windhover extends Operations {
  constructor(options: ClientOptions) {
    super(createTransport(options));
  }
}
