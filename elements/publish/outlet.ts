/** A server that units are sent to: connected to as soon as there is something to send, and again whenever it was lost. */
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";

/** One connection. */
export interface Publisher {
  /** False: it was not taken. */
  send(unit: AccessUnit): boolean;
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** Rejects with the reason. When the signal is aborted it ends whatever it is about, the connection too. */
export type OpenPublisher = (tracks: Tracks, signal: AbortSignal) => Promise<Publisher>;

export type OutletStatus = "starting" | "live" | "retrying";

const LIMITS = {
  /** Before the first attempt after a loss; twice as long each time. */
  firstWaitMs: 500,
  mostWaitMs: 10_000,
  /** A connection that held so long is no reason to wait longer the next time. */
  steadyMs: 10_000,
  /** To say good-bye. */
  closeMs: 1_000,
  /** Of pictures since the last key one, kept for a server that is being connected to. */
  keptBytes: 4 * 2 ** 20,
};

export class Outlet {
  readonly #open: OpenPublisher;
  readonly #onStatus: () => void;
  readonly #limits: typeof LIMITS;
  readonly #cut = new AbortController();
  #status: OutletStatus = "starting";
  #detail: string | null = null;
  #framesSent = 0;
  #framesDropped = 0;
  #tracks: Tracks | null = null;
  #publisher: Publisher | null = null;
  /** Begins with a key picture, or is empty. */
  #kept: AccessUnit[] = [];
  #keptBytes = 0;
  #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** A connection that comes or goes: there is no other meanwhile. */
  #turning: Promise<void> | null = null;
  #isClosed = false;

  /** `onStatus` whenever the status or its detail has changed. */
  constructor(open: OpenPublisher, onStatus: () => void, limits: Partial<typeof LIMITS> = {}) {
    this.#open = open;
    this.#onStatus = onStatus;
    this.#limits = { ...LIMITS, ...limits };
    this.#waitMs = this.#limits.firstWaitMs;
  }

  get status(): OutletStatus {
    return this.#status;
  }

  /** Why it is not live. */
  get detail(): string | null {
    return this.#detail;
  }

  get framesSent(): number {
    return this.#framesSent;
  }

  get framesDropped(): number {
    return this.#framesDropped;
  }

  /** Never waits. Other tracks than before come with a key picture. */
  send(unit: AccessUnit, tracks: Tracks): void {
    if (this.#isClosed) return;
    if (tracks !== this.#tracks) this.#change(tracks);
    if (this.#publisher !== null) {
      this.#pass(this.#publisher, unit);
      return;
    }
    this.#keep(unit);
    this.#connect();
  }

  /** Within its limit. What is on its way to the server still goes there. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#forget();
    const timer = setTimeout(() => this.#cut.abort(), this.#publisher === null ? 0 : this.#limits.closeMs);
    await this.#turning;
    await this.#publisher?.close().catch(() => {});
    clearTimeout(timer);
  }

  /** A session is for one kind of picture: another one needs another session, which the server allows when this is over. */
  #change(tracks: Tracks): void {
    const publisher = this.#publisher;
    this.#tracks = tracks;
    this.#publisher = null;
    if (publisher === null) return;
    this.#become("starting", null);
    this.#turn(publisher.close());
  }

  /** Where there is nothing to send, as while the graph is paused, there is no connection either. */
  #connect(): void {
    const tracks = this.#tracks;
    if (tracks === null || this.#kept.length === 0 || this.#isClosed) return;
    if (this.#turning !== null || this.#timer !== undefined) return;
    const opened = this.#open(tracks, this.#cut.signal);
    this.#turn(
      opened.then(
        (publisher) => this.#begin(publisher, tracks),
        (error: Error) => this.#retry(error.message),
      ),
    );
  }

  #turn(work: Promise<void>): void {
    this.#turning = work
      .catch(() => {})
      .then(() => {
        this.#turning = null;
        this.#connect();
      });
  }

  async #begin(publisher: Publisher, tracks: Tracks): Promise<void> {
    if (this.#isClosed || tracks !== this.#tracks) {
      await publisher.close();
      return;
    }
    const beganMs = performance.now();
    this.#publisher = publisher;
    this.#become("live", null);
    for (const unit of this.#take()) this.#pass(publisher, unit);
    void publisher.closed.then((reason) => {
      if (this.#publisher !== publisher || this.#isClosed) return;
      this.#publisher = null;
      if (performance.now() - beganMs >= this.#limits.steadyMs) this.#waitMs = this.#limits.firstWaitMs;
      this.#retry(reason);
    });
  }

  #retry(reason: string): void {
    if (this.#isClosed) return;
    this.#become("retrying", reason);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#connect();
      },
      this.#waitMs * (0.75 + Math.random() / 2),
    );
    this.#waitMs = Math.min(this.#waitMs * 2, this.#limits.mostWaitMs);
  }

  #pass(publisher: Publisher, unit: AccessUnit): void {
    if (publisher.send(unit)) this.#framesSent++;
    else this.#framesDropped++;
  }

  /** What a server that comes back is sent first. */
  #keep(unit: AccessUnit): void {
    const bytes = unit.parts.reduce((sum, part) => sum + part.length, 0);
    if (unit.isKey || this.#keptBytes + bytes > this.#limits.keptBytes) this.#forget();
    if (!unit.isKey && this.#kept.length === 0) {
      this.#framesDropped++;
      return;
    }
    this.#kept.push(unit);
    this.#keptBytes += bytes;
  }

  #forget(): void {
    this.#framesDropped += this.#take().length;
  }

  #take(): readonly AccessUnit[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#keptBytes = 0;
    return kept;
  }

  #become(status: OutletStatus, detail: string | null): void {
    if (status === this.#status && detail === this.#detail) return;
    this.#status = status;
    this.#detail = detail;
    this.#onStatus();
  }
}
