/** Sends events over a connection that may be lost: connects at once, reconnects with backoff, queues meanwhile. */

export interface OutletEvent {
  /** Of MQTT; datagrams have none. */
  readonly topic: string;
  readonly payload: Buffer;
  /** The broker keeps it for later subscribers; an empty one removes what it kept. */
  readonly isRetained?: boolean;
}

/** One connection. */
export interface Link {
  /** Calls `done` once, when the event was accepted or rejected; never if the connection is lost before. */
  send(event: OutletEvent, done: (error: Error | null) => void): void;
  readonly closed: Promise<string>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Rejects with the reason. Aborting the signal cancels the attempt, or closes the connection. */
export type OpenLink = (signal: AbortSignal) => Promise<Link>;

type OutletStatus = "starting" | "live" | "retrying";

export const OUTLET_LIMITS = {
  /** Delay before the first attempt after a loss; doubles with each attempt. */
  firstWaitMs: 500,
  maxWaitMs: 10_000,
  /** A connection that lasted this long resets the delay. */
  steadyMs: 10_000,
  /** To send queued events and to disconnect. */
  closeMs: 1_000,
  /** Queued events; beyond this the oldest are dropped. */
  maxQueued: 1_000,
  maxQueuedBytes: 8 * 2 ** 20,
  /** Events sent and not yet acknowledged. */
  maxPending: 32,
};

export class EventOutlet {
  readonly #open: OpenLink;
  readonly #onStatus: () => void;
  readonly #limits: typeof OUTLET_LIMITS;
  readonly #abort = new AbortController();
  status: OutletStatus = "starting";
  /** Why it is not live. */
  detail: string | null = null;
  eventsSent = 0;
  eventsDropped = 0;
  #link: Link | null = null;
  #queue: OutletEvent[] = [];
  #queuedBytes = 0;
  #pending = new Set<OutletEvent>();
  #isPumping = false;
  #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #connecting: Promise<void> = Promise.resolve();
  #isConnecting = false;
  #isClosed = false;
  #onIdle = (): void => {};

  /** Calls `onStatus` when the status or its detail has changed. */
  constructor(open: OpenLink, onStatus: () => void, limits: Partial<typeof OUTLET_LIMITS> = {}) {
    this.#open = open;
    this.#onStatus = onStatus;
    this.#limits = { ...OUTLET_LIMITS, ...limits };
    this.#waitMs = this.#limits.firstWaitMs;
    this.#connect();
  }

  /** Never blocks. */
  send(event: OutletEvent): void {
    if (this.#isClosed) return;
    this.#queue.push(event);
    this.#queuedBytes += event.payload.length;
    this.#trim();
    this.#pump();
  }

  /** Within `closeMs`. Sends queued events if a connection is open or being opened. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const canSend = this.#link !== null || this.#isConnecting;
    const aborted = new Promise<void>((resolve) => this.#abort.signal.addEventListener("abort", () => resolve()));
    const limit = setTimeout(() => this.#abort.abort(), canSend ? this.#limits.closeMs : 0);
    await Promise.race([this.#finish(), aborted]);
    clearTimeout(limit);
    this.#abort.abort();
    this.eventsDropped += this.#queue.length + this.#pending.size;
    this.#queue = [];
    this.#pending.clear();
  }

  async #finish(): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    this.#pump();
    if (this.#isConnecting && this.#queue.length > 0) await this.#connecting;
    if (this.#link !== null) await idle;
    await this.#link?.close();
  }

  #connect(): void {
    this.#isConnecting = true;
    this.#connecting = this.#open(this.#abort.signal).then(
      (link) => this.#begin(link),
      (error: Error) => this.#retry(error.message),
    );
  }

  #begin(link: Link): void {
    this.#isConnecting = false;
    if (this.#abort.signal.aborted) {
      void link.close();
      return;
    }
    const beganMs = performance.now();
    this.#link = link;
    this.#setStatus("live", null);
    void link.closed.then((reason) => {
      if (this.#link !== link) return;
      this.#link = null;
      if (performance.now() - beganMs >= this.#limits.steadyMs) this.#waitMs = this.#limits.firstWaitMs;
      this.#requeue();
      this.#retry(reason);
    });
    this.#pump();
  }

  #retry(reason: string): void {
    this.#isConnecting = false;
    if (this.#isClosed) {
      this.#onIdle();
      return;
    }
    this.#setStatus("retrying", reason);
    this.#timer = setTimeout(() => this.#connect(), this.#waitMs * (0.75 + Math.random() / 2));
    this.#waitMs = Math.min(this.#waitMs * 2, this.#limits.maxWaitMs);
  }

  /** Not reentrant: some links call `done` synchronously. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#link !== null && this.#pending.size < this.#limits.maxPending) {
      const event = this.#queue.shift();
      if (event === undefined) break;
      this.#queuedBytes -= event.payload.length;
      this.#pass(this.#link, event);
    }
    this.#isPumping = false;
    if (this.#queue.length + this.#pending.size === 0) this.#onIdle();
  }

  #pass(link: Link, event: OutletEvent): void {
    this.#pending.add(event);
    link.send(event, (error) => {
      if (this.#link !== link || !this.#pending.delete(event)) return;
      if (error === null) this.eventsSent++;
      else this.eventsDropped++;
      this.#setStatus(error === null ? "live" : "retrying", error?.message ?? null);
      this.#pump();
    });
  }

  /** Whether they arrived is unknown. A duplicate event does no harm. */
  #requeue(): void {
    for (const { payload } of this.#pending) this.#queuedBytes += payload.length;
    this.#queue = [...this.#pending, ...this.#queue];
    this.#pending.clear();
    this.#trim();
  }

  #trim(): void {
    const { maxQueued, maxQueuedBytes } = this.#limits;
    let surplus = Math.max(0, this.#queue.length - maxQueued);
    let bytes = this.#queuedBytes;
    for (const [at, { payload }] of this.#queue.entries()) {
      if (at >= surplus && bytes <= maxQueuedBytes) break;
      bytes -= payload.length;
      surplus = Math.max(surplus, at + 1);
    }
    if (surplus === 0) return;
    this.#queuedBytes = bytes;
    this.#queue.splice(0, surplus);
    this.eventsDropped += surplus;
  }

  #setStatus(status: OutletStatus, detail: string | null): void {
    if (status === this.status && detail === this.detail) return;
    this.status = status;
    this.detail = detail;
    this.#onStatus();
  }
}
