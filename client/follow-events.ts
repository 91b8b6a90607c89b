/** The events of an account as they happen: server-sent events, continued after the last one when the connection ends. */
import type { AccountEvent } from "./operations.ts";
import { type ClientOptions, readApiError } from "./transport.ts";

export interface FollowOptions {
  /** Begin after the event with this `id`; `0` for all that are stored. Default: with the next one. */
  readonly after?: number;
  /** One type of events, or several, separated by commas. */
  readonly type?: string;
  readonly process?: string;
  readonly source?: string;
  /** Ends it, without an error. */
  readonly signal?: AbortSignal;
}

const FIRST_MS = 500;
const MAX_MS = 10_000;

/** Rejects with `ApiError` when the service rejects the request; reconnects, with backoff, when it cannot be reached. */
export async function* followEvents(
  { url, apiKey, fetch: send = fetch }: ClientOptions,
  { signal, after, ...filter }: FollowOptions = {},
): AsyncGenerator<AccountEvent, void> {
  const base = url.replace(/(?<!\/)\/+$/, "");
  let last = after;
  for (let failures = 0; !signal?.aborted; ) {
    const search = new URLSearchParams(
      Object.entries({ ...filter, ...(last !== undefined && { after: String(last) }) }),
    );
    const key = typeof apiKey === "function" ? apiKey() : apiKey;
    const headers = { Accept: "text/event-stream", ...(key !== undefined && { api_key: key }) };
    const answer = await send(`${base}/events?${search}`, { headers, ...(signal && { signal }) }).catch(() => null);
    if (answer !== null && !answer.ok && answer.status < 500) throw await readApiError(answer);
    if (answer?.ok && answer.body !== null) {
      failures = 0;
      for await (const event of readEvents(answer.body)) {
        last = event.id;
        yield event;
      }
    }
    if (signal?.aborted) return;
    failures += 1;
    await pause(Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS) * (0.5 + Math.random() / 2), signal);
  }
}

/** Ends when the connection does. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<AccountEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const lines = block.split("\n");
        const data = lines.find((line) => line.startsWith("data: "));
        // Comments, and the event `gap`, have no id.
        if (data !== undefined && lines.some((line) => line.startsWith("id: ")))
          yield JSON.parse(data.slice("data: ".length)) as AccountEvent;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
