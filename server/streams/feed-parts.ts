/** `multipart/x-mixed-replace`: one JPEG replaces the one before. */
import type { Picture } from "../processes/processes.ts";
import type { Pieces } from "./body.ts";
import { Wake } from "./wake.ts";

const BOUNDARY = "windhover-frame";
export const FEED_TYPE = `multipart/x-mixed-replace; boundary=${BOUNDARY}`;

/** A viewer that takes one of these now and then is slow; one that takes none is not there. */
const PIECE_BYTES = 16_384;

/** The latest picture wins: one that comes while another is being sent replaces the one that waits. */
export class FeedParts implements Pieces {
  readonly #leave: () => void;
  readonly #wake = new Wake();
  #pieces: Uint8Array[] = [Buffer.from(`--${BOUNDARY}`)];
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
      const piece = this.#pieces.shift() ?? this.#cutNext();
      if (piece !== undefined) return piece;
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
      this.#pieces = cutPart(this.#latest);
      this.#latest = null;
    }
    return this.#pieces.shift();
  }
}

/** Ends with the boundary, without its line end: browsers show a picture when they have seen what ends it. */
function cutPart({ captureMs, bytes }: Picture): Uint8Array[] {
  const head = [
    "",
    "Content-Type: image/jpeg",
    `Content-Length: ${bytes.length}`,
    `X-Timestamp: ${new Date(captureMs).toISOString()}`,
    "",
    "",
  ].join("\r\n");
  const part = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}`)]);
  const count = Math.ceil(part.length / PIECE_BYTES);
  return Array.from({ length: count }, (_, i) => part.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES));
}
