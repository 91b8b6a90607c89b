/** A way for events that comes and goes: connected to at once, and again whenever it was lost. */

/** One connection. */
export interface Link {
  /** `done` once, when it has been taken or why it was not; never, when the connection is lost before. */
  send(event: Buffer, done: (error: Error | null) => void): void;
  readonly closed: Promise<string>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Rejects with the reason. When the signal is aborted it ends whatever it is about, the connection too. */
export type OpenLink = (signal: AbortSignal) => Promise<Link>;

export type OutletStatus = "starting" | "live" | "retrying";

export const OUTLET_LIMITS = {
  /** Before the first attempt after a loss; twice as long each time. */
  firstWaitMs: 500,
  mostWaitMs: 10_000,
  /** A connection that held so long is no reason to wait longer the next time. */
  steadyMs: 10_000,
  /** To send what is left and to say good-bye. */
  closeMs: 1_000,
  /** Events that wait; beyond it the oldest give way. */
  mostWaiting: 1_000,
  /** Events on their way. */
  mostUnderWay: 32,
};

export class EventOutlet {
  readonly #open: OpenLink;
  readonly #onStatus: () => void;
  readonly #limits: typeof OUTLET_LIMITS;
  readonly #cut = new AbortController();
  #status: OutletStatus = "starting";
  #detail: string | null = null;
  #eventsSent = 0;
  #eventsDropped = 0;
  #link: Link | null = null;
  #waiting: Buffer[] = [];
  #underWay = new Set<Buffer>();
  #isPumping = false;
  #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #connecting: Promise<void> = Promise.resolve();
  #isConnecting = false;
  #isClosed = false;
  #onIdle = (): void => {};

  /** `onStatus` whenever the status or its detail has changed. */
  constructor(open: OpenLink, onStatus: () => void, limits: Partial<typeof OUTLET_LIMITS> = {}) {
    this.#open = open;
    this.#onStatus = onStatus;
    this.#limits = { ...OUTLET_LIMITS, ...limits };
    this.#waitMs = this.#limits.firstWaitMs;
    this.#connect();
  }

  get status(): OutletStatus {
    return this.#status;
  }

  /** Why it is not live. */
  get detail(): string | null {
    return this.#detail;
  }

  get eventsSent(): number {
    return this.#eventsSent;
  }

  get eventsDropped(): number {
    return this.#eventsDropped;
  }

  /** Never waits. */
  send(event: Buffer): void {
    if (this.#isClosed) return;
    this.#waiting.push(event);
    this.#trim();
    this.#pump();
  }

  /** Within its limit. What waits still goes where there is a way, or one was just being opened. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const isHopeful = this.#link !== null || this.#isConnecting;
    const isOver = new Promise<void>((resolve) => this.#cut.signal.addEventListener("abort", () => resolve()));
    const limit = setTimeout(() => this.#cut.abort(), isHopeful ? this.#limits.closeMs : 0);
    await Promise.race([this.#finish(), isOver]);
    clearTimeout(limit);
    this.#cut.abort();
    this.#eventsDropped += this.#waiting.length + this.#underWay.size;
    this.#waiting = [];
    this.#underWay.clear();
  }

  async #finish(): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    this.#pump();
    if (this.#isConnecting && this.#waiting.length > 0) await this.#connecting;
    if (this.#link !== null) await idle;
    await this.#link?.close();
  }

  #connect(): void {
    this.#isConnecting = true;
    this.#connecting = this.#open(this.#cut.signal).then(
      (link) => this.#begin(link),
      (error: Error) => this.#retry(error.message),
    );
  }

  #begin(link: Link): void {
    this.#isConnecting = false;
    if (this.#cut.signal.aborted) {
      void link.close();
      return;
    }
    const beganMs = performance.now();
    this.#link = link;
    this.#become("live", null);
    void link.closed.then((reason) => {
      if (this.#link !== link) return;
      this.#link = null;
      if (performance.now() - beganMs >= this.#limits.steadyMs) this.#waitMs = this.#limits.firstWaitMs;
      this.#putBack();
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
    this.#become("retrying", reason);
    this.#timer = setTimeout(() => this.#connect(), this.#waitMs * (0.75 + Math.random() / 2));
    this.#waitMs = Math.min(this.#waitMs * 2, this.#limits.mostWaitMs);
  }

  /** Some links take at once, others later: never from within itself. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#link !== null && this.#underWay.size < this.#limits.mostUnderWay) {
      const event = this.#waiting.shift();
      if (event === undefined) break;
      this.#pass(this.#link, event);
    }
    this.#isPumping = false;
    if (this.#waiting.length + this.#underWay.size === 0) this.#onIdle();
  }

  #pass(link: Link, event: Buffer): void {
    this.#underWay.add(event);
    link.send(event, (error) => {
      if (this.#link !== link || !this.#underWay.delete(event)) return;
      if (error === null) this.#eventsSent++;
      else this.#eventsDropped++;
      this.#become(error === null ? "live" : "retrying", error?.message ?? null);
      this.#pump();
    });
  }

  /** Nobody knows whether they arrived. An event that comes twice does no harm: it is the same one. */
  #putBack(): void {
    this.#waiting = [...this.#underWay, ...this.#waiting];
    this.#underWay.clear();
    this.#trim();
  }

  #trim(): void {
    const surplus = this.#waiting.length - this.#limits.mostWaiting;
    if (surplus <= 0) return;
    this.#waiting.splice(0, surplus);
    this.#eventsDropped += surplus;
  }

  #become(status: OutletStatus, detail: string | null): void {
    if (status === this.#status && detail === this.#detail) return;
    this.#status = status;
    this.#detail = detail;
    this.#onStatus();
  }
}
