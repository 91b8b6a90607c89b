/**
 * Requests begin by turns: in each pass of the event loop one of each client that has any waiting. Whoever sends a
 * thousand at once waits for itself, and everybody else waits for one of those at most.
 *
 * While others ask, too, a client that has many waiting, or just had work of its own that takes long, has half of this
 * thread: its next turn comes when the thread has been idle for as long as it was busy since the last one. So others
 * mostly find it free.
 */
import { performance } from "node:perf_hooks";

/** With more requests waiting than a browser or a busy program has, a client is slowed down. */
const MANY = 8;
/** Clients that asked within this time share the thread. */
const RECENT_MS = 1000;
const MOST_PAUSE_MS = 100;

interface Client {
  readonly waiting: (() => void)[];
  /** Its last turn was for work that takes long. */
  isHeavy: boolean;
  /** When its last request began, and how long the thread had been busy by then, in all. */
  beganMs: number;
  busyMs: number;
}

export class Turns {
  /** Those that asked within `RECENT_MS`, or wait. */
  readonly #clients = new Map<string, Client>();
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Begins it in this pass of the event loop, or in one of the next. */
  add(name: string, begin: () => void): void {
    const client = this.#clients.get(name);
    if (client === undefined) this.#clients.set(name, { waiting: [begin], isHeavy: false, beganMs: 0, busyMs: 0 });
    else client.waiting.push(begin);
    this.#immediate ??= setImmediate(() => this.#pass());
  }

  /** Resolves when it is this client's turn for work that takes long. */
  next(name: string): Promise<void> {
    return new Promise((resolve) =>
      this.add(name, () => {
        const client = this.#clients.get(name);
        if (client !== undefined) client.isHeavy = true;
        resolve();
      }),
    );
  }

  #pass(): void {
    this.#immediate = undefined;
    clearTimeout(this.#timer);
    const nowMs = performance.now();
    const busyMs = performance.eventLoopUtilization().active;
    let pauseMs = Number.POSITIVE_INFINITY;
    for (const [name, client] of this.#clients) {
      const { waiting } = client;
      if (waiting.length === 0 && nowMs - client.beganMs > RECENT_MS) this.#clients.delete(name);
      if (waiting.length === 0) continue;
      const isSlowed = this.#clients.size > 1 && (client.isHeavy || waiting.length > MANY);
      const ownPauseMs = isSlowed ? pauseOf(client, nowMs, busyMs) : 0;
      if (ownPauseMs <= 0) {
        Object.assign(client, { isHeavy: false, beganMs: nowMs, busyMs });
        waiting.shift()?.();
      }
      if (waiting.length > 0) pauseMs = Math.min(pauseMs, ownPauseMs);
    }
    if (pauseMs <= 0) this.#immediate ??= setImmediate(() => this.#pass());
    else if (pauseMs < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#pass(), pauseMs);
  }
}

const pauseOf = (client: Client, nowMs: number, busyMs: number): number =>
  Math.min(2 * (busyMs - client.busyMs) - (nowMs - client.beganMs), MOST_PAUSE_MS - (nowMs - client.beganMs));
