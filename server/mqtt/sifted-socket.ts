/** A connection to a broker, without those of its messages that are too long. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { PacketSieve } from "./packet-sieve.ts";

/** Owns the socket. */
export class SiftedSocket extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket, sieve: PacketSieve) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#sift(chunk, sieve));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #sift(chunk: Buffer, sieve: PacketSieve): void {
    try {
      for (const piece of sieve.sift(chunk)) if (!this.push(piece)) this.#socket.pause();
    } catch (error) {
      // The client tells only of errors that have a code.
      this.destroy(Object.assign(error as Error, { code: "EPROTO" }));
    }
  }
}
