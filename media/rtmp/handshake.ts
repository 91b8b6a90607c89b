/** The simple RTMP handshake, which every peer supports: each side sends a version and 1536 bytes, and echoes the peer's. */

import { randomBytes } from "node:crypto";
import { MediaError } from "../access-unit.ts";

const VERSION = 3;
/** Higher numbers are printable: another protocol. */
const LAST_VERSION = 31;
const FOREIGN: ReadonlyMap<number, string> = new Map([
  ...[6, 8, 9].map((version) => [version, "RTMPE is not supported: use RTMPS, or RTMP"] as const),
  // The first byte of a ClientHello.
  [22, "received TLS on the port for RTMP: RTMPS has another port"],
]);
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
    const [version] = this.#received;
    if (version !== undefined) expectVersion(version);
    if (this.#received.length < 1 + PART_BYTES) return null;
    if (!this.#hasAnswered) {
      this.#hasAnswered = true;
      const echo = this.#received.subarray(1, 1 + PART_BYTES);
      this.#write(this.#role === "server" ? Buffer.concat([makeHello(), echo]) : Buffer.from(echo));
    }
    if (this.#received.length < 1 + 2 * PART_BYTES) return null;
    // The echo is not compared: several encoders send something else, such as a digest.
    return this.#received.subarray(1 + 2 * PART_BYTES);
  }

  /** Bytes of the peer that it still waits for. */
  get missingBytes(): number {
    return Math.max(1 + 2 * PART_BYTES - this.#received.length, 0);
  }
}

/** RTMP 1.0, 5.2.2: a version that is not known is answered with 3, and the client decides. */
function expectVersion(version: number): void {
  const reason = FOREIGN.get(version);
  if (reason !== undefined) throw new MediaError(reason);
  if (version > LAST_VERSION) throw new MediaError(`expected RTMP handshake version ${VERSION}, received ${version}`);
}
