/** Requests to the server for authorization. */
import { type Channel, RequestRejected } from "../ipc/channel.ts";
import type { Authorization, AuthorizeRequest, HubMessage, HubRequest } from "../schemas/hub.ts";
import { StreamRejected } from "./errors.ts";

export type AccessRequest = Omit<AuthorizeRequest, "type" | "id">;
type Admission = Omit<Authorization, "refusal">;

/** Asks the server whether a client may publish or play. Without a reply in time, the client is rejected. */
export class AccessClient {
  readonly #server: Pick<Channel<HubMessage, HubRequest>, "request">;
  readonly #limitMs: number;

  constructor(server: Pick<Channel<HubMessage, HubRequest>, "request">, limitMs: number) {
    this.#server = server;
    this.#limitMs = limitMs;
  }

  /** Rejects only with `StreamRejected`. */
  async authorize(request: AccessRequest): Promise<Admission> {
    const reply = this.#server.request({ type: "authorize", ...request }, this.#limitMs);
    const { refusal, ...admission } = (await reply.catch((error: Error) => {
      const reason = error instanceof RequestRejected ? error.message : "the server did not answer in time";
      throw new StreamRejected("unavailable", `the media server cannot authorize clients now: ${reason}`);
    })) as Authorization;
    if (refusal !== null) throw new StreamRejected(refusal.kind, refusal.detail);
    return admission;
  }
}
