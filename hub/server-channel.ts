/** Requests to the server for authorization. */
import type { AuthorizeRequest, HubVerdict } from "../schemas/hub.ts";
import { StreamRejected } from "./errors.ts";

export type AccessRequest = Omit<AuthorizeRequest, "type" | "id">;
type Verdict = Omit<HubVerdict, "type" | "id">;

export interface Admission {
  /** Name of the recording to make of a publisher. */
  readonly recording: string | null;
  /** The publisher is a runner of the server. */
  readonly isOwn?: boolean;
}

/** Requests belong to connections, which are limited; this limit only catches bugs. */
const MAX_PENDING_REQUESTS = 10_000;

/** Asks the server whether a client may publish or play. Without a verdict in time, the client is rejected. */
export class AccessClient {
  readonly #send: (request: AuthorizeRequest) => void;
  readonly #verdictMs: number;
  readonly #pending = new Map<number, (verdict: Verdict) => void>();
  #lastId = 0;
  #isClosed = false;

  constructor(send: (request: AuthorizeRequest) => void, { verdictMs }: { readonly verdictMs: number }) {
    this.#send = send;
    this.#verdictMs = verdictMs;
  }

  /** Rejects only with `StreamRejected`. */
  async authorize(request: AccessRequest): Promise<Admission> {
    if (this.#isClosed || this.#pending.size >= MAX_PENDING_REQUESTS) throw reject(SHUTTING_DOWN);
    const id = ++this.#lastId;
    return new Promise((resolve, fail) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        fail(reject(unavailable("the server did not answer in time")));
      }, this.#verdictMs);
      this.#pending.set(id, ({ refusal, recording, isOwn = false }) => {
        clearTimeout(timer);
        this.#pending.delete(id);
        if (refusal === null) resolve({ recording, isOwn });
        else fail(reject(refusal));
      });
      this.#send({ type: "authorize", id, ...request });
    });
  }

  /** Ignores a late or repeated verdict. */
  handleVerdict(verdict: HubVerdict): void {
    this.#pending.get(verdict.id)?.(verdict);
  }

  close(): void {
    this.#isClosed = true;
    for (const settle of [...this.#pending.values()]) settle({ refusal: SHUTTING_DOWN, recording: null });
  }
}

type Refusal = NonNullable<HubVerdict["refusal"]>;

const reject = ({ kind, detail }: Refusal) => new StreamRejected(kind, detail);
const unavailable = (reason: string): Refusal => ({
  kind: "unavailable",
  detail: `the media server cannot authorize clients now: ${reason}`,
});
const SHUTTING_DOWN = unavailable("it is shutting down");
