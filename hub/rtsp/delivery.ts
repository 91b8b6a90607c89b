/** How packets get to a player: within its RTSP connection, or by UDP. */
import type { Socket } from "node:net";
import { interleave } from "../../media/rtp/sender.ts";
import type { UdpPair } from "./udp-pair.ts";

export interface Delivery {
  readonly kind: "tcp" | "udp";
  /** Takes more. False: what is written now would only wait. */
  readonly hasRoom: boolean;
  /** What was written and has not gone yet. */
  readonly waitingBytes: number;
  /** Grows whenever something has gone. */
  readonly goneBytes: number;
  /** The channel that goes into the packets, or null where they need none. */
  channelOf(track: number): number | null;
  /** Pairs of headers and body, all of one unit. */
  send(track: number, pieces: readonly Uint8Array[]): void;
  sendReport(track: number, report: Uint8Array): void;
  close(): void;
}

/** So much may wait in the socket, which tells of no progress before all of it has gone; the rest waits as units, which all players share and which can still be left out. */
const WINDOW_BYTES = 65_536;

export class TcpDelivery implements Delivery {
  readonly kind = "tcp";
  readonly #socket: Socket;
  readonly #channels = new Map<number, readonly [number, number]>();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** False when the channels are in use. */
  add(track: number, channels: readonly [number, number]): boolean {
    const used = [...this.#channels].flatMap(([other, pair]) => (other === track ? [] : pair));
    if (channels.some((channel) => used.includes(channel))) return false;
    this.#channels.set(track, channels);
    return true;
  }

  get hasRoom(): boolean {
    return this.#socket.writableLength < WINDOW_BYTES;
  }

  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  get goneBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  channelOf(track: number): number | null {
    return this.#channels.get(track)?.[0] ?? null;
  }

  send(_track: number, pieces: readonly Uint8Array[]): void {
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  sendReport(track: number, report: Uint8Array): void {
    const channel = this.#channels.get(track)?.[1];
    if (channel !== undefined) this.#socket.write(interleave(channel, report));
  }

  close(): void {
    // The connection is not ours.
  }
}

export class UdpDelivery implements Delivery {
  readonly kind = "udp";
  readonly #mostBytes: number;
  readonly #pairs = new Map<number, UdpPair>();
  #goneBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(track: number, pair: UdpPair): void {
    this.#pairs.get(track)?.close();
    this.#pairs.set(track, pair);
  }

  get hasRoom(): boolean {
    return this.waitingBytes < this.#mostBytes;
  }

  get waitingBytes(): number {
    let bytes = 0;
    for (const pair of this.#pairs.values()) bytes += pair.rtp.getSendQueueSize();
    return bytes;
  }

  get goneBytes(): number {
    return this.#goneBytes;
  }

  channelOf(): null {
    return null;
  }

  send(track: number, pieces: readonly Uint8Array[]): void {
    const socket = this.#pairs.get(track)?.rtp;
    if (socket === undefined) return;
    for (let i = 0; i + 1 < pieces.length; i += 2) {
      const packet = [pieces[i] as Uint8Array, pieces[i + 1] as Uint8Array];
      socket.send(packet, (error, bytes) => {
        if (error === null) this.#goneBytes += bytes;
      });
    }
  }

  sendReport(track: number, report: Uint8Array): void {
    this.#pairs.get(track)?.rtcp.send(report, () => {});
  }

  close(): void {
    for (const pair of this.#pairs.values()) pair.close();
    this.#pairs.clear();
  }
}
