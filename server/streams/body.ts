/** Streamed response bodies, and the chunks of a feed. */
import type { Picture } from "../processes/processes.ts";

/** The chunks of a body. */
export interface Chunks {
  /** Resolves when there is one; null at the end. */
  next(): Promise<Uint8Array | null>;
  /** The client has gone, or everything was sent. May be called more than once. */
  leave(): void;
}

interface Stall {
  readonly afterMs: number;
  /** The client read nothing for this time: ends the connection. */
  drop(): void;
}

/**
 * A body without a fixed end. A chunk is requested when the client has read the previous one: data is queued in `chunks`,
 * where it can be dropped, and not here.
 */
export function streamBody(chunks: Chunks, stall: Stall): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const finish = () => {
    isOver = true;
    clearTimeout(timer);
    chunks.leave();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        clearTimeout(timer);
        const chunk = await chunks.next();
        if (isOver) return;
        if (chunk === null) {
          finish();
          controller.close();
          return;
        }
        timer = setTimeout(() => {
          finish();
          stall.drop();
        }, stall.afterMs);
        controller.enqueue(chunk);
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}

/** Lets one reader wait for data. */
export class Wake {
  #resolve: (() => void) | null = null;

  /** Resolves at the next `ring`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  ring(): void {
    this.#resolve?.();
    this.#resolve = null;
  }
}

const BOUNDARY = "windhover-frame";
export const FEED_TYPE = `multipart/x-mixed-replace; boundary=${BOUNDARY}`;

/** A viewer that reads one of these now and then is slow; one that reads none has gone. */
const CHUNK_BYTES = 16_384;

/** `multipart/x-mixed-replace` with the latest picture: one that arrives while another is sent replaces the queued one. */
export class FeedChunks implements Chunks {
  readonly #leave: () => void;
  readonly #wake = new Wake();
  #chunks: Uint8Array[] = [Buffer.from(`--${BOUNDARY}`)];
  #latest: Picture | null = null;
  #hasEnded = false;
  #hasSentEnd = false;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  show(picture: Picture): void {
    this.#latest = picture;
    this.#wake.ring();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake.ring();
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      const chunk = this.#chunks.shift() ?? this.#cutNext();
      if (chunk !== undefined) return chunk;
      if (this.#hasSentEnd) return null;
      await this.#wake.wait();
    }
  }

  leave(): void {
    this.#leave();
    this.end();
  }

  #cutNext(): Uint8Array | undefined {
    if (this.#hasEnded) {
      if (this.#hasSentEnd) return undefined;
      this.#hasSentEnd = true;
      return Buffer.from("--\r\n");
    }
    if (this.#latest !== null) {
      this.#chunks = splitPart(this.#latest);
      this.#latest = null;
    }
    return this.#chunks.shift();
  }
}

/** Ends with the boundary, without its line break: browsers show a picture when they have received its end. */
function splitPart({ captureMs, bytes }: Picture): Uint8Array[] {
  const head = [
    "",
    "Content-Type: image/jpeg",
    `Content-Length: ${bytes.length}`,
    `X-Timestamp: ${new Date(captureMs).toISOString()}`,
    "",
    "",
  ].join("\r\n");
  const part = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}`)]);
  const count = Math.ceil(part.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, i) => part.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES));
}
