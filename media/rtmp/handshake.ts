/** The simple RTMP handshake, which every peer supports: each side sends a version and 1536 bytes, and echoes the peer's. */

import { randomBytes } from "node:crypto";
import { MediaError } from "../access-unit.ts";

const VERSION = 3;
const PART_BYTES = 1536;
const NO_BYTES = Buffer.alloc(0);

function makeHello(): Buffer {
  const hello = randomBytes(1 + PART_BYTES);
  hello[0] = VERSION;
  // Time, then four zeros: no digest is present, and none is expected.
  hello.fill(0, 1, 9);
  return hello;
}

export class Handshake {
  readonly #role: "server" | "client";
  readonly #write: (bytes: Buffer) => void;
  #received: Buffer = NO_BYTES;
  #hasAnswered = false;

  constructor(role: "server" | "client", write: (bytes: Buffer) => void) {
    this.#role = role;
    this.#write = write;
    if (role === "client") write(makeHello());
  }

  /** Null until it is complete, then the bytes after it. */
  push(bytes: Buffer): Buffer | null {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    const version = this.#received[0];
    if (version !== undefined && version !== VERSION) {
      throw new MediaError(`expected RTMP handshake version ${VERSION}, received ${version}`);
    }
    if (this.#received.length < 1 + PART_BYTES) return null;
    if (!this.#hasAnswered) {
      this.#hasAnswered = true;
      const echo = this.#received.subarray(1, 1 + PART_BYTES);
      this.#write(this.#role === "server" ? Buffer.concat([makeHello(), echo]) : Buffer.from(echo));
    }
    if (this.#received.length < 1 + 2 * PART_BYTES) return null;
    // The echo is not compared: several encoders send something else.
    return this.#received.subarray(1 + 2 * PART_BYTES);
  }
}
