/** The time that a client misses while a process moves to another node. */
import { setTimeout as wait } from "node:timers/promises";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, type TestService } from "../api/service.fixture.ts";

export interface Watched {
  /** Longest time between two messages. */
  readonly worstMs: number;
  readonly lastMs: number;
  readonly connections: number;
}

/** A client that always reconnects, through the given node. */
export async function watchGaps(uuid: string, via: TestService, signal: AbortSignal): Promise<Watched> {
  const url = `${via.url.replace("http", "ws")}/process/${uuid}/detection_data?api_key=${MASTER_KEY}`;
  let lastMs: number | null = null;
  let worstMs = 0;
  let connections = 0;
  const note = (message: { timestamp: string }): void => {
    const atMs = Date.parse(message.timestamp);
    if (lastMs !== null) worstMs = Math.max(worstMs, atMs - lastMs);
    lastMs = Math.max(lastMs ?? 0, atMs);
  };
  while (!signal.aborted) {
    try {
      const detections = await Detections.open(url);
      connections += 1;
      signal.addEventListener("abort", () => detections.close(), { once: true });
      await detections.closed;
      for (const message of detections.messages) note(message);
    } catch {
      // It is moving.
      await wait(100);
    }
  }
  return { worstMs, lastMs: lastMs ?? 0, connections };
}
