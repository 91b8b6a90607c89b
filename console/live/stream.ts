/** A body that goes on for as long as somebody looks: asked for again, with growing waits, when it breaks off. */
import { base, session } from "../session.ts";

const FIRST_MS = 500;
const MOST_MS = 10_000;

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
        const answer = await fetch(base + path, { signal, headers: { api_key: session.value?.apiKey ?? "" } });
        // Not there any more, or not allowed: asking again changes nothing.
        if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) {
          const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
          return onTrouble(problem.detail ?? `The service answered ${answer.status}.`);
        }
        if (!answer.ok || answer.body === null) throw new Error(`the service answered ${answer.status}`);
        const take = open();
        const reader = answer.body.getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          take(read.value);
          failures = 0;
        }
        if (!signal.aborted) onTrouble("It has ended.");
      } catch {
        if (signal.aborted) return;
        onTrouble("The connection is lost; it is tried again.");
      }
      await sleep(Math.min(FIRST_MS * 2 ** failures, MOST_MS), signal);
    }
  };
  void run();
  return () => ending.abort();
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
