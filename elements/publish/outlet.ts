/** A server that units are sent to: connected to when the first one comes, and again whenever it was lost. */
import type { Tracks, Unit } from "../../media/unit.ts";

/** One connection. */
export interface Publisher {
  /** False: it was not taken. */
  send(unit: Unit): boolean;
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

type Status = "starting" | "live" | "retrying";

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 10_000;
/** Pictures since the last key one are kept for a server that is connected just then. */
const MOST_KEPT_BYTES = 4 * 2 ** 20;

export class Outlet {
  readonly #open: (tracks: Tracks) => Promise<Publisher>;
  readonly #onStatus: (detail: string | null) => void;
  #status: Status = "starting";
  #detail: string | null = null;
  #framesSent = 0;
  #framesDropped = 0;
  #tracks: Tracks | null = null;
  #publisher: Publisher | null = null;
  #kept: Unit[] = [];
  #keptBytes = 0;
  #waitMs = FIRST_WAIT_MS;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> | null = null;
  #isClosed = false;

  /** `onStatus` with why it is not live, whenever that changes. */
  constructor(open: (tracks: Tracks) => Promise<Publisher>, onStatus: (detail: string | null) => void) {
    this.#open = open;
    this.#onStatus = onStatus;
  }

  get status(): Status {
    return this.#status;
  }

  get detail(): string | null {
    return this.#detail;
  }

  get framesSent(): number {
    return this.#framesSent;
  }

  /** Of those that came after it was first live. */
  get framesDropped(): number {
    return this.#framesDropped;
  }

  send(unit: Unit, tracks: Tracks): void {
    if (this.#isClosed) return;
    if (tracks !== this.#tracks) this.#change(tracks);
    if (this.#publisher !== null) {
      this.#pass(this.#publisher, unit);
      return;
    }
    this.#keep(unit);
    if (this.#opening === null && this.#timer === undefined) this.#connect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#opening;
    await this.#publisher?.close();
  }

  /** A session is for one kind of picture: another one needs another session. */
  #change(tracks: Tracks): void {
    const publisher = this.#publisher;
    this.#tracks = tracks;
    this.#publisher = null;
    if (publisher !== null) void publisher.close().catch(() => {});
  }

  #connect(): void {
    this.#timer = undefined;
    const tracks = this.#tracks;
    if (tracks === null) return;
    this.#opening = this.#open(tracks)
      .then((publisher) => this.#begin(publisher, tracks))
      .catch((error: Error) => this.#retry(error.message))
      .finally(() => {
        this.#opening = null;
      });
  }

  async #begin(publisher: Publisher, tracks: Tracks): Promise<void> {
    if (this.#isClosed || tracks !== this.#tracks) {
      await publisher.close();
      return;
    }
    this.#publisher = publisher;
    this.#waitMs = FIRST_WAIT_MS;
    this.#become("live", null);
    for (const unit of this.#kept) this.#pass(publisher, unit);
    this.#forget();
    void publisher.closed.then((reason) => {
      if (this.#publisher !== publisher || this.#isClosed) return;
      this.#publisher = null;
      this.#retry(reason);
    });
  }

  #retry(reason: string): void {
    if (this.#isClosed) return;
    this.#become("retrying", reason);
    this.#timer = setTimeout(() => this.#connect(), this.#waitMs * (0.75 + Math.random() / 2));
    this.#waitMs = Math.min(this.#waitMs * 2, MOST_WAIT_MS);
  }

  #pass(publisher: Publisher, unit: Unit): void {
    if (publisher.send(unit)) this.#framesSent++;
    else this.#framesDropped++;
  }

  /** What a server that comes back will be sent first: it begins with a key picture. */
  #keep(unit: Unit): void {
    if (unit.isKey) this.#forget();
    else if (this.#kept.length === 0) {
      this.#drop(1);
      return;
    }
    const bytes = unit.parts.reduce((sum, part) => sum + part.length, 0);
    if (this.#keptBytes + bytes > MOST_KEPT_BYTES) {
      this.#drop(1);
      this.#forget();
      return;
    }
    this.#kept.push(unit);
    this.#keptBytes += bytes;
  }

  #forget(): void {
    if (this.#publisher === null) this.#drop(this.#kept.length);
    this.#kept = [];
    this.#keptBytes = 0;
  }

  #drop(frames: number): void {
    if (this.#status !== "starting") this.#framesDropped += frames;
  }

  #become(status: Status, detail: string | null): void {
    if (status === this.#status && detail === this.#detail) return;
    this.#status = status;
    this.#detail = detail;
    this.#onStatus(detail);
  }
}
