/** How the packets of a track travel, as negotiated by SETUP: interleaved in the RTSP connection, or over a pair of UDP ports. */
import type { Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6, type Socket } from "node:net";
import { interleave, type PacketSet, splitPackets } from "../../media/rtp/sender.ts";
import { type Pair, readTransport, type Transport } from "../../media/rtsp/headers.ts";
import { StatusError } from "../errors.ts";
import { bindUdp } from "../udp.ts";

/** The RTSP connection and its client. */
export interface Wire {
  readonly socket: Socket;
  /** RTSPS: packets are sent in the connection only, since those over UDP would not be encrypted. */
  readonly isSecure: boolean;
  readonly address: string;
  /** The client is alive. */
  touch(): void;
}

/** Reads the header of a SETUP. `kind`: of the tracks that are already set up. Throws a `StatusError`. */
export function expectTransport(
  header: string,
  isRecord: boolean,
  kind: Transport["kind"] | null,
  { isSecure }: Pick<Wire, "isSecure">,
): Transport {
  const transport = readTransport(header);
  if (transport === null)
    throw new StatusError(461, "expected RTP/AVP/TCP, or RTP/AVP with client_port; multicast is not supported");
  // After ANNOUNCE it is clear what is set up, and some publishers do not state it.
  if (transport.isRecord && !isRecord) throw new StatusError(455, "mode=record requires ANNOUNCE");
  if (isSecure && transport.kind === "udp")
    throw new StatusError(461, "RTSPS carries packets in its own connection: use TCP");
  if (kind !== null && transport.kind !== kind)
    throw new StatusError(461, "all tracks of a session must use the same transport");
  return transport;
}

/** Channels for a client that leaves the choice to the server. */
export const defaultChannels = (track: number): Pair => [track * 2, track * 2 + 1];

export const channelsInUse = () => new StatusError(400, "these channels are in use");

export const describeTcp = ([rtp, rtcp]: Pair): string => `RTP/AVP/TCP;unicast;interleaved=${rtp}-${rtcp}`;

export function describeUdp([rtp, rtcp]: Pair, pair: UdpPair): string {
  const [ownRtp, ownRtcp] = pair.ports;
  return `RTP/AVP;unicast;client_port=${rtp}-${rtcp};server_port=${ownRtp}-${ownRtcp}`;
}

/** Sends packets to a player. */
export interface Delivery {
  readonly kind: "tcp" | "udp";
  /** False: more data would only be queued. */
  readonly hasRoom: boolean;
  /** Written, but not sent yet. */
  readonly queuedBytes: number;
  /** Grows with every successful send. */
  readonly sentBytes: number;
  /** The interleaved channel of a track's packets; over UDP, any. */
  channelOf(track: number): number;
  /** Where packets that are sent at once can be written, of at least this size. Undefined: in a buffer of their own. */
  bufferFor(bytes: number): Buffer | undefined;
  /** All of one unit. */
  send(track: number, packets: PacketSet): void;
  sendReport(track: number, report: Uint8Array): void;
  close(): void;
}

/**
 * Limit of the socket's queue, which shows progress only when it is empty. The rest is queued as units, which all players
 * share and which can still be dropped.
 */
const WINDOW_BYTES = 65_536;

/**
 * A buffer for the packets of one player after the other, since the kernel takes nearly every picture at once: most of what
 * the hub allocates for a picture would be one for each player. A player that is behind keeps its packets, and with them the
 * buffer that they are in: it must not be much larger than they are.
 */
const SHARED_BYTES = 65_536;
let shared: Buffer | null = null;

export class TcpDelivery implements Delivery {
  readonly kind = "tcp";
  readonly #socket: Socket;
  readonly #channels = new Map<number, Pair>();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Throws a `StatusError` if the channels are in use. */
  add(track: number, channels: Pair): void {
    const used = [...this.#channels].flatMap(([other, pair]) => (other === track ? [] : pair));
    if (channels.some((channel) => used.includes(channel))) throw channelsInUse();
    this.#channels.set(track, channels);
  }

  get hasRoom(): boolean {
    return this.#socket.writableLength < WINDOW_BYTES;
  }

  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  get sentBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  channelOf(track: number): number {
    return this.#channels.get(track)?.[0] ?? 0;
  }

  bufferFor(bytes: number): Buffer | undefined {
    // Over TLS the socket keeps it in any case.
    const isKept = this.#socket.writableLength > 0 || "encrypted" in this.#socket;
    if (bytes > SHARED_BYTES || isKept) return undefined;
    shared ??= Buffer.allocUnsafeSlow(SHARED_BYTES);
    return shared;
  }

  send(_track: number, { bytes }: PacketSet): void {
    this.#socket.write(bytes);
    // The kernel has not taken everything: the socket keeps the buffer until it has.
    if (this.#socket.writableLength > 0 && bytes.buffer === shared?.buffer) shared = null;
  }

  sendReport(track: number, report: Uint8Array): void {
    const channel = this.#channels.get(track)?.[1];
    if (channel !== undefined) this.#socket.write(interleave(channel, report));
  }

  close(): void {
    // The connection has another owner.
  }
}

export class UdpDelivery implements Delivery {
  readonly kind = "udp";
  readonly #maxBytes: number;
  sentBytes = 0;
  readonly #pairs = new Map<number, UdpPair>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(track: number, pair: UdpPair): void {
    this.#pairs.get(track)?.close();
    this.#pairs.set(track, pair);
  }

  get hasRoom(): boolean {
    return this.queuedBytes < this.#maxBytes;
  }

  get queuedBytes(): number {
    let bytes = 0;
    for (const pair of this.#pairs.values()) bytes += pair.rtp.getSendQueueSize();
    return bytes;
  }

  channelOf(): number {
    return 0;
  }

  bufferFor(): undefined {
    return undefined;
  }

  readonly #onSent = (error: Error | null, bytes: number): void => {
    if (error === null) this.sentBytes += bytes;
  };

  send(track: number, packets: PacketSet): void {
    const socket = this.#pairs.get(track)?.rtp;
    if (socket === undefined) return;
    for (const packet of splitPackets(packets)) socket.send(packet, this.#onSent);
  }

  sendReport(track: number, report: Uint8Array): void {
    this.#pairs.get(track)?.rtcp.send(report, () => {});
  }

  close(): void {
    for (const pair of this.#pairs.values()) pair.close();
    this.#pairs.clear();
  }
}

const TRIES = 32;

/** Two consecutive local UDP ports: RTP on the even one, RTCP on the odd one (RFC 3550, 11). */
export class UdpPair {
  readonly rtp: UdpSocket;
  readonly rtcp: UdpSocket;

  private constructor(rtp: UdpSocket, rtcp: UdpSocket) {
    this.rtp = rtp;
    this.rtcp = rtcp;
  }

  /** Binds the address that the client has connected to. Rejects with a `StatusError` if no ports are free. */
  static async open({ socket }: Wire): Promise<UdpPair> {
    const address = (socket.localAddress ?? "").replace(/^::ffff:/, "");
    const bind = (port: number) =>
      bindUdp({ type: isIPv6(address) ? "udp6" : "udp4" }, { address, port, exclusive: true });
    const noPorts = () => new StatusError(453, "no UDP ports are free: use TCP");
    for (let i = 0; i < TRIES; i++) {
      const rtp = await bind(0).catch(() => {
        throw noPorts();
      });
      const { port } = rtp.address();
      if (port % 2 === 0) {
        const rtcp = await bind(port + 1).catch(() => null);
        if (rtcp !== null) return new UdpPair(rtp, rtcp);
      }
      rtp.close();
    }
    throw noPorts();
  }

  get ports(): Pair {
    return [this.rtp.address().port, this.rtcp.address().port];
  }

  /** Sends only there, and receives only from there. */
  async connect(address: string, ports: Pair): Promise<void> {
    await Promise.all(
      [this.rtp, this.rtcp].map((socket, i) => {
        const connected = once(socket, "connect");
        socket.connect(ports[i as 0 | 1], address);
        return connected;
      }),
    );
  }

  close(): void {
    this.rtp.close();
    this.rtcp.close();
  }
}
