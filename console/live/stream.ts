/** A body that goes on for as long as somebody looks: asked for again, with growing waits, when it breaks off. */
import { ApiError } from "../../client/client.ts";
import { backOffMs } from "../back-off.ts";
import { toSentence } from "../parts/format.ts";
import { ask } from "../session.ts";

const FIRST_MS = 500;
const MOST_MS = 10_000;
const ENDED = "It has ended.";

export interface StreamNeeds {
  /** Below the service: `/process/…/events`. */
  readonly path: string;
  /** A new connection: what reads the pieces begins anew. */
  open(): (piece: Uint8Array) => void;
  /** It does not flow. */
  onTrouble?(words: string): void;
}

/** Returns how to stop. */
export function stream({ path, open, onTrouble = () => {} }: StreamNeeds): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const run = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const { body } = await ask(path, signal);
        const take = open();
        const reader = body?.getReader();
        for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
          take(read.value);
          failures = 0;
        }
        if (!signal.aborted) onTrouble(ENDED);
      } catch (error) {
        if (signal.aborted) return;
        if (isRefused(error)) return onTrouble(error.code === "process_not_found" ? ENDED : toSentence(error.message));
        onTrouble("The connection is lost; it is tried again.");
      }
      await sleep(backOffMs(FIRST_MS, failures, MOST_MS), signal);
    }
  };
  void run();
  return () => ending.abort();
}

/** Not there any more, or not allowed: asking again changes nothing. */
const isRefused = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
