/**
 * The event log of a user as server-sent events, for one client. Nothing is queued here: the next events are read from the
 * database when the client has read those before, so that a slow client costs no memory.
 */
import type { AccountEvent } from "../../schemas/api/account-events.ts";
import type { EventFilter } from "../store/events.ts";
import { type Chunks, Wake } from "../streams/body.ts";
import { describeEvent } from "./describe-event.ts";
import type { EventLog } from "./event-log.ts";

/** Reconnection delay of browsers. */
const RETRY_MS = 2000;
const BATCH = 100;
/** After the database could not be read. */
const PAUSE_MS = 1000;
const COMMENT = Buffer.from(": still here\n\n");

interface EventLinesOptions {
  readonly log: Pick<EventLog, "read" | "watch">;
  readonly userUuid: string;
  readonly filter: EventFilter;
  /** The last event that the client has. */
  readonly after: number;
  /** Events that are no longer stored. */
  readonly gap: { readonly from: number; readonly to: number } | null;
  readonly pingMs: number;
  leave(): void;
}

export class AccountEventLines implements Chunks {
  readonly #options: EventLinesOptions;
  readonly #wake = new Wake();
  readonly #unwatch: () => void;
  readonly #timer: NodeJS.Timeout;
  #after: number;
  #hasBegun = false;
  #hasEnded = false;
  /** There may be events to read. */
  #isDue = true;
  #isPingDue = false;

  constructor(options: EventLinesOptions) {
    const { log, userUuid, after, pingMs } = options;
    this.#options = options;
    this.#after = after;
    this.#unwatch = log.watch(userUuid, () => this.#ring());
    this.#timer = setInterval(() => {
      this.#isPingDue = true;
      this.#wake.ring();
    }, pingMs);
  }

  end(): void {
    this.#hasEnded = true;
    this.#unwatch();
    clearInterval(this.#timer);
    this.#wake.ring();
  }

  leave(): void {
    this.#options.leave();
    this.end();
  }

  async next(): Promise<Uint8Array | null> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      const { gap } = this.#options;
      return Buffer.from(`retry: ${RETRY_MS}\n\n${gap === null ? "" : writeEvent("gap", null, gap)}`);
    }
    for (;;) {
      if (this.#hasEnded) return null;
      if (this.#isDue) {
        const text = await this.#read();
        if (text !== "") return Buffer.from(text);
      } else if (this.#isPingDue) {
        this.#isPingDue = false;
        return COMMENT;
      } else await this.#wake.wait();
    }
  }

  #ring(): void {
    this.#isDue = true;
    this.#wake.ring();
  }

  async #read(): Promise<string> {
    const { log, userUuid, filter } = this.#options;
    this.#isDue = false;
    try {
      const rows = await log.read(userUuid, filter, this.#after, BATCH);
      // Perhaps there are more.
      this.#isDue ||= rows.length === BATCH;
      this.#after = rows.at(-1)?.seq ?? this.#after;
      if (rows.length > 0) this.#isPingDue = false;
      return rows.map((row) => writeEvent(row.type, row.seq, describeEvent(row))).join("");
    } catch {
      setTimeout(() => this.#ring(), PAUSE_MS).unref();
      return "";
    }
  }
}

const writeEvent = (name: string, id: number | null, data: AccountEvent | EventLinesOptions["gap"]): string =>
  `event: ${name}\n${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
