import type { JsonRecord } from "../../schemas/json.ts";

/**
 * Messages for one client. Bounded in number and bytes: a slow client loses the oldest, and the next message says how many.
 */
export interface QueuedMessage {
  /** A JSON object, not empty. */
  readonly json: string;
  readonly bytes: number;
  /** Dropped only if there are no others. */
  readonly isKept?: boolean;
}

export class MessageQueue<M extends QueuedMessage> {
  readonly #most: { readonly messages: number; readonly bytes: number };
  readonly #waiting: M[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor(most: { readonly messages: number; readonly bytes: number }) {
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** The newest is always kept, whatever its size. */
  put(message: M): void {
    this.#waiting.push(message);
    this.#bytes += message.bytes;
    while (this.#waiting.length > 1 && (this.#waiting.length > this.#most.messages || this.#bytes > this.#most.bytes)) {
      this.#drop();
    }
  }

  /** The oldest, and the text to send. */
  take(): { readonly message: M; readonly json: string } | null {
    const message = this.#waiting.shift();
    if (message === undefined) return null;
    this.#bytes -= message.bytes;
    const json = this.#dropped === 0 ? message.json : `${message.json.slice(0, -1)},"dropped":${this.#dropped}}`;
    this.#dropped = 0;
    return { message, json };
  }

  clear(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
  }

  /** Never the newest. */
  #drop(): void {
    const found = this.#waiting.findIndex(({ isKept }) => isKept !== true);
    const index = found < 0 || found === this.#waiting.length - 1 ? 0 : found;
    const [lost] = this.#waiting.splice(index, 1);
    this.#bytes -= lost?.bytes ?? 0;
    this.#dropped += 1;
  }
}

const known = new WeakMap<JsonRecord, QueuedMessage>();

/** Once per message, however many clients get it. */
export function serialise(message: JsonRecord): QueuedMessage {
  let queued = known.get(message);
  if (queued === undefined) {
    const json = JSON.stringify(message);
    queued = { json, bytes: Buffer.byteLength(json) };
    known.set(message, queued);
  }
  return queued;
}
