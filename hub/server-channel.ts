/** Requests to the server: for authorization, and for streams of other nodes. */
import { type Channel, NoReply } from "../ipc/channel.ts";
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
      // Clients do not get texts of the server's own errors.
      const reason = error instanceof NoReply ? "the server did not answer in time" : "the server could not handle it";
      throw new StreamRejected("unavailable", `the media server cannot authorize clients now: ${reason}`);
    })) as Authorization;
    if (refusal !== null) throw new StreamRejected(refusal.kind, refusal.detail);
    return admission;
  }

  /** The URL at the node that publishes this stream; null if no other does. Contains a token. Rejects without a reply. */
  async locate(path: string): Promise<string | null> {
    return (await this.#server.request({ type: "locate", path }, this.#limitMs)) as string | null;
  }
}
