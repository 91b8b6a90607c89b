/** Sends a stream as MPEG-TS in datagrams, to a host or a multicast group. */
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP, isIPv6 } from "node:net";
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { KeyframeGate, PUBLISH_DEFAULTS, type Publisher, type PublishOptions } from "../publisher.ts";
import { TsMuxer } from "./muxer.ts";
import { TS_BYTES } from "./packet.ts";

export interface UdpReceiver {
  readonly host: string;
  readonly port: number;
  /** Of multicast: how many routers may pass it on. */
  readonly ttl: number;
}

/** Packets per datagram: fits into one frame of any network. */
const DATAGRAM_BYTES = 7 * TS_BYTES;

/** Rejects with the reason if the host is not known. Whether the receiver exists is not known. */
export async function publishUdp(
  target: UdpReceiver,
  tracks: Tracks,
  options: PublishOptions = {},
): Promise<Publisher> {
  const { host, port, ttl } = target;
  const address = options.host ?? (isIP(host) === 0 ? (await lookup(host)).address : host);
  options.signal?.throwIfAborted();
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  try {
    socket.bind(0);
    await once(socket, "listening", options.signal === undefined ? {} : { signal: options.signal });
    socket.setMulticastTTL(ttl);
  } catch (error) {
    socket.close();
    throw error;
  }
  return new UdpPublisher(socket, { address, port }, tracks, { ...PUBLISH_DEFAULTS, ...options });
}

class UdpPublisher implements Publisher {
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #target: { readonly address: string; readonly port: number };
  readonly #muxer: TsMuxer;
  readonly #gate: KeyframeGate;
  #resolveClosed: (reason: string) => void = () => {};
  #isClosed = false;

  constructor(
    socket: Socket,
    target: { readonly address: string; readonly port: number },
    tracks: Tracks,
    { queueBytes, signal }: { readonly queueBytes: number; readonly signal?: AbortSignal | undefined },
  ) {
    this.#socket = socket;
    this.#target = target;
    this.#muxer = new TsMuxer(tracks);
    this.#gate = new KeyframeGate(queueBytes);
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    socket.on("error", (error) => this.#end(error.message));
    const abort = (): void => this.#end("aborted");
    signal?.addEventListener("abort", abort);
    socket.once("close", () => signal?.removeEventListener("abort", abort));
  }

  send(unit: AccessUnit): boolean {
    if (this.#isClosed || !this.#gate.accepts(unit, this.#socket.getSendQueueSize())) return false;
    const { address, port } = this.#target;
    const packets = this.#muxer.write(unit);
    for (let at = 0; at < packets.length; at += DATAGRAM_BYTES)
      this.#socket.send(packets.subarray(at, at + DATAGRAM_BYTES), port, address, (error) => {
        if (error !== null) this.#end(error.message);
      });
    return true;
  }

  async close(): Promise<void> {
    this.#end("closed");
    await this.closed;
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close(() => this.#resolveClosed(reason));
  }
}
