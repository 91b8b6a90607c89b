/** A body that goes on for as long as somebody looks: asked for again, with growing waits, when it breaks off. */
import { ApiError } from "../../client/client.ts";
import { backOffMs } from "../back-off.ts";
import { toSentence } from "../parts/format.ts";

const FIRST_MS = 500;
const MOST_MS = 10_000;
/** Events come more often, be it only to say that all is well: a network that was changed does not say that it is dead. */
const SILENT_MS = 60_000;
const ENDED = "It has ended.";

export interface StreamNeeds {
  /** Below the service: `/process/…/events`. */
  readonly path: string;
  /** Rejects with `ApiError` where it is refused. */
  readonly ask: (path: string, signal: AbortSignal) => Promise<Response>;
  /** When nothing has come for so long, it is asked for again. */
  readonly silentMs?: number;
  /** A new connection: what reads the pieces begins anew. */
  open(): (piece: Uint8Array) => void;
  /** It does not flow. */
  onTrouble?(words: string): void;
}

/** Returns how to stop. */
export function stream(needs: StreamNeeds): () => void {
  const { onTrouble = () => {} } = needs;
  const ending = new AbortController();
  const { signal } = ending;
  const run = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const connection = new Connection(needs, signal);
      try {
        await connection.read();
        if (!signal.aborted) onTrouble(ENDED);
      } catch (error) {
        if (signal.aborted) return;
        if (isRefused(error)) return onTrouble(error.code === "process_not_found" ? ENDED : toSentence(error.message));
        onTrouble(`${wordsFor(error, connection)}; it is tried again.`);
      } finally {
        connection.close();
      }
      if (connection.hasFlown) failures = 0;
      await sleep(backOffMs(FIRST_MS, failures, MOST_MS), signal);
    }
  };
  void run();
  return () => ending.abort();
}

function wordsFor(error: unknown, { isSilent }: Connection): string {
  if (isSilent) return "Nothing comes";
  return error instanceof ApiError && error.status >= 400 ? `Not yet: ${error.message}` : "The connection is lost";
}

/** One try. Browsers keep few connections to a service: whatever ends it, it is let go. */
class Connection {
  isSilent = false;
  hasFlown = false;
  readonly #needs: StreamNeeds;
  readonly #signal: AbortSignal;
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(needs: StreamNeeds, signal: AbortSignal) {
    this.#needs = needs;
    this.#signal = signal;
    signal.addEventListener("abort", this.close);
  }

  /** Rejects when it breaks off, and when what comes cannot be read. */
  async read(): Promise<void> {
    const { path, ask, open } = this.#needs;
    this.#expect();
    const { body } = await ask(path, this.#ending.signal);
    const take = open();
    const reader = body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      this.#expect();
      take(read.value);
      this.hasFlown = true;
    }
  }

  readonly close = (): void => {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.close);
    this.#ending.abort();
  };

  #expect(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.close();
    }, this.#needs.silentMs ?? SILENT_MS);
  }
}

/** Of a process that is being taken up again, or that too many look at just now. */
const PASSING = ["wrong_state", "viewers_limit_reached", "rate_limited"];

/** Not there any more, or not allowed: asking again changes nothing. */
const isRefused = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && !PASSING.includes(error.code);

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake);
  });
