/** Two UDP ports of ours, one after the other: RTP on the even one, RTCP on the odd one (RFC 3550, 11). */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";

const TRIES = 32;
/** A large picture comes and goes as one burst of packets; the system may allow less. */
const BUFFER_BYTES = 4 * 2 ** 20;

export class UdpPair {
  readonly rtp: Socket;
  readonly rtcp: Socket;

  private constructor(rtp: Socket, rtcp: Socket) {
    this.rtp = rtp;
    this.rtcp = rtcp;
  }

  /** On the address that the client has connected to. Rejects when there are no ports left. */
  static async open(localAddress: string): Promise<UdpPair> {
    for (let i = 0; i < TRIES; i++) {
      const rtp = await bind(localAddress, 0);
      const { port } = rtp.address();
      if (port % 2 === 0) {
        const rtcp = await bind(localAddress, port + 1).catch(() => null);
        if (rtcp !== null) return new UdpPair(rtp, rtcp);
      }
      rtp.close();
    }
    throw new Error("no two UDP ports in a row are free");
  }

  get ports(): readonly [number, number] {
    return [this.rtp.address().port, this.rtcp.address().port];
  }

  /** From now on packets go there, and come from nowhere else. */
  async connect(address: string, ports: readonly [number, number]): Promise<void> {
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

async function bind(address: string, port: number): Promise<Socket> {
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  try {
    const listening = once(socket, "listening");
    socket.bind({ address, port, exclusive: true });
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // A receiver that is gone makes sends fail; that it is gone shows elsewhere.
  socket.on("error", () => {});
  for (const set of ["setRecvBufferSize", "setSendBufferSize"] as const) {
    try {
      socket[set](BUFFER_BYTES);
    } catch {
      // Then it stays as the system has it.
    }
  }
  return socket;
}
