/** Asks the server whom to let in. Every question is answered: by the server, or after a while with a refusal. */
import type { AuthorizeRequest, HubVerdict } from "../schemas/hub.ts";

type Refusal = NonNullable<HubVerdict["refusal"]>;

export class Refused extends Error {
  readonly kind: Refusal["kind"];
  /** Fit to be shown to whoever was refused. */
  readonly detail: string;
  constructor({ kind, detail }: Refusal) {
    super(detail);
    this.kind = kind;
    this.detail = detail;
  }
}

export type Question = Omit<AuthorizeRequest, "type" | "id">;

export interface Admission {
  /** Of a publisher: the name of the recording to make of it. */
  readonly recording: string | null;
  /** Of a publisher: it is a runner of the server's. */
  readonly isOwn?: boolean;
}

interface Waiting {
  readonly timer: NodeJS.Timeout;
  settle(verdict: Omit<HubVerdict, "type" | "id">): void;
}

/** A question is a connection's, which are limited; this is for the programmer's faults. */
const MOST_WAITING = 10_000;

export class Doorman {
  readonly #ask: (request: AuthorizeRequest) => void;
  readonly #verdictMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #isClosed = false;

  constructor(ask: (request: AuthorizeRequest) => void, { verdictMs }: { readonly verdictMs: number }) {
    this.#ask = ask;
    this.#verdictMs = verdictMs;
  }

  /** Rejects with `Refused`, and with nothing else. */
  authorize(question: Question): Promise<Admission> {
    if (this.#isClosed || this.#waiting.size >= MOST_WAITING) return Promise.reject(unavailable("it is shutting down"));
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const settle = ({ refusal, recording, isOwn = false }: Omit<HubVerdict, "type" | "id">) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        if (refusal === null) resolve({ recording, isOwn });
        else reject(new Refused(refusal));
      };
      const timer = setTimeout(
        () => settle({ refusal: unavailable("the server did not answer in time"), recording: null }),
        this.#verdictMs,
      );
      this.#waiting.set(id, { timer, settle });
      this.#ask({ type: "authorize", id, ...question });
    });
  }

  /** One that comes too late, or twice, does nothing. */
  settle(verdict: HubVerdict): void {
    this.#waiting.get(verdict.id)?.settle(verdict);
  }

  close(): void {
    this.#isClosed = true;
    for (const waiting of [...this.#waiting.values()])
      waiting.settle({ refusal: unavailable("it is shutting down"), recording: null });
  }
}

const unavailable = (why: string): Refused =>
  new Refused({ kind: "unavailable", detail: `the media server cannot let anybody in just now: ${why}` });
