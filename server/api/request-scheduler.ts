/**
 * Starts requests round-robin by client: one request per client in each iteration of the event loop; of the only active
 * client, those that start within a millisecond, so that they can share queries. A client that sends a thousand requests at
 * once delays its own requests, and any other client by one request or that millisecond at most.
 *
 * While several clients are active, a client with a long queue, or one that has just run an expensive task, is limited to
 * a quarter of this thread: its next request starts once the thread has been idle for three quarters of the time since the
 * previous one. Other clients then usually find the thread idle. An expensive task counts by its bytes, too: their
 * collection costs the thread more than the task itself, but later.
 */
import { performance } from "node:perf_hooks";

/** Clients with longer queues are throttled. Browsers and busy programs stay below. */
const LONG_QUEUE = 8;
/** A client is active for this long after its last request. */
const ACTIVE_MS = 1000;
const BURST_MS = 1;
const THROTTLED_SHARE = 1 / 4;
const MAX_PAUSE_MS = 100;
/**
 * Of expensive tasks. The texts of a large body are allocated in the old generation (twice: the body and its values):
 * at 10 MB/s it is collected every second, and every collection delays all clients by up to 20 ms.
 */
const BYTES_PER_MS = 2500;

interface Client {
  readonly queue: (() => void)[];
  /** From its last task to the next one; 0 unless that was an expensive one. */
  minPauseMs: number;
  /** When its last task started, and the total busy time of the thread at that moment. */
  startedMs: number;
  busyMs: number;
}

export class RequestScheduler {
  /** Active clients. */
  readonly #clients = new Map<string, Client>();
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Calls `start` in this or a later iteration of the event loop. */
  schedule(name: string, start: () => void): void {
    const client = this.#clients.get(name);
    if (client === undefined) this.#clients.set(name, { queue: [start], minPauseMs: 0, startedMs: 0, busyMs: 0 });
    else client.queue.push(start);
    this.#immediate ??= setImmediate(() => this.#runOnce());
  }

  /** Resolves when the client may run an expensive synchronous task on this many bytes. */
  scheduleExpensive(name: string, bytes: number): Promise<void> {
    return new Promise((resolve) =>
      this.schedule(name, () => {
        const client = this.#clients.get(name);
        if (client !== undefined) client.minPauseMs = bytes / BYTES_PER_MS;
        resolve();
      }),
    );
  }

  #runOnce(): void {
    this.#immediate = undefined;
    clearTimeout(this.#timer);
    const nowMs = this.#now();
    const busyMs = performance.eventLoopUtilization().active;
    let pauseMs = Number.POSITIVE_INFINITY;
    for (const [name, client] of this.#clients) {
      const { queue } = client;
      if (queue.length === 0 && nowMs - client.startedMs > ACTIVE_MS) this.#clients.delete(name);
      if (queue.length === 0) continue;
      const isThrottled = this.#clients.size > 1 && (client.minPauseMs > 0 || queue.length > LONG_QUEUE);
      const clientPauseMs = isThrottled ? pauseOf(client, nowMs, busyMs) : 0;
      if (clientPauseMs <= 0) {
        Object.assign(client, { minPauseMs: 0, startedMs: nowMs, busyMs });
        // Not those that they schedule.
        for (let left = queue.length; left > 0; left--) {
          queue.shift()?.();
          if (this.#clients.size > 1 || client.minPauseMs > 0 || this.#now() - nowMs > BURST_MS) break;
        }
      }
      if (queue.length > 0) pauseMs = Math.min(pauseMs, clientPauseMs);
    }
    if (pauseMs <= 0) this.#immediate ??= setImmediate(() => this.#runOnce());
    else if (pauseMs < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#runOnce(), pauseMs);
  }
}

/** How long the client still has to wait; 0 or less: not at all. */
function pauseOf(client: Client, nowMs: number, busyMs: number): number {
  const sinceMs = nowMs - client.startedMs;
  return Math.max(client.minPauseMs, Math.min((busyMs - client.busyMs) / THROTTLED_SHARE, MAX_PAUSE_MS)) - sinceMs;
}
