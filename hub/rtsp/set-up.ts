/** The answer to SETUP: by which way the packets of one track come or go. */

import type { Socket } from "node:net";
import type { Tracks } from "../../media/access-unit.ts";
import { readTransport, type Transport } from "../../media/rtsp/headers.ts";
import type { Answer } from "./client.ts";
import { TcpDelivery, UdpDelivery } from "./delivery.ts";
import { Player, type PlayerLimits } from "./player.ts";
import type { Publisher } from "./publisher.ts";
import { RequestRefusal } from "./refusal.ts";
import { findTrack } from "./request-url.ts";
import { UdpPair } from "./udp-pair.ts";

/** The connection, and who is at its other end. */
export interface Wire {
  readonly socket: Socket;
  readonly address: string;
  heard(): void;
}

interface PlayerSetUp {
  readonly path: string;
  readonly tracks: Tracks;
  readonly track: number | null;
  readonly url: string;
  readonly header: string;
  readonly limits: PlayerLimits;
}

interface PublisherSetUp {
  readonly rest: string;
  readonly base: string;
  readonly header: string;
}

export async function setUpPlayer(
  known: Player | null,
  { path, tracks, track, url, header, limits }: PlayerSetUp,
  wire: Wire,
): Promise<{ player: Player; answer: Answer }> {
  const transport = expectTransport(header, false, known?.delivery.kind ?? null);
  const index = track ?? 0;
  const delivery =
    known?.delivery ?? (transport.kind === "tcp" ? new TcpDelivery(wire.socket) : new UdpDelivery(limits.readerBytes));
  const player = known ?? new Player(path, tracks, delivery, limits);
  if (!player.hasTrack(index)) throw new RequestRefusal(404, "this stream has no such track");
  const way = await openPlayerWay(player, index, transport, wire);
  const ssrc = player.addTrack(index, url).toString(16).padStart(8, "0");
  return { player, answer: { headers: { Transport: `${way};ssrc=${ssrc}` } } };
}

async function openPlayerWay(player: Player, index: number, transport: Transport, wire: Wire): Promise<string> {
  const { delivery } = player;
  if (transport.kind === "tcp" && delivery instanceof TcpDelivery) {
    const channels = transport.channels ?? ([index * 2, index * 2 + 1] as const);
    if (!delivery.add(index, channels)) throw new RequestRefusal(400, "these channels are in use");
    return describeTcp(channels);
  }
  if (transport.kind === "udp" && delivery instanceof UdpDelivery) {
    const pair = await openPair(wire);
    try {
      await pair.connect(wire.address, transport.ports);
    } catch {
      pair.close();
      throw new RequestRefusal(461, "these ports cannot be reached: use TCP");
    }
    delivery.add(index, pair);
    pair.rtcp.on("message", () => wire.heard());
    return describeUdp(transport.ports, pair);
  }
  throw otherTransport();
}

export async function setUpPublisher(
  publisher: Publisher,
  { rest, base, header }: PublisherSetUp,
  wire: Wire,
): Promise<Answer> {
  const transport = expectTransport(header, true, publisher.kind);
  const controls = publisher.media.map(({ control }) => control);
  const index = findTrack(rest, base, controls);
  if (index === -1) throw new RequestRefusal(404, "no such track was announced");
  if (transport.kind === "tcp") {
    const channels = transport.channels ?? ([index * 2, index * 2 + 1] as const);
    if (!publisher.addChannels(index, channels)) throw new RequestRefusal(400, "these channels are in use");
    return { headers: { Transport: `${describeTcp(channels)};mode=record` } };
  }
  const pair = await openPair(wire);
  if (publisher.isClosed) {
    pair.close();
    throw new RequestRefusal(455, "the session is over");
  }
  publisher.addPair(index, pair, wire.address, transport.ports);
  return { headers: { Transport: `${describeUdp(transport.ports, pair)};mode=record` } };
}

function expectTransport(header: string, isRecord: boolean, kind: Transport["kind"] | null): Transport {
  const transport = readTransport(header);
  if (transport === null)
    throw new RequestRefusal(461, "RTP/AVP/TCP, or RTP/AVP with client_port, is expected: no multicast");
  if (transport.isRecord !== isRecord)
    throw new RequestRefusal(455, isRecord ? "mode=record is expected" : "nothing was announced");
  if (kind !== null && transport.kind !== kind) throw otherTransport();
  return transport;
}

const otherTransport = () => new RequestRefusal(461, "all tracks of a session go the same way");

async function openPair({ socket }: Wire): Promise<UdpPair> {
  const local = (socket.localAddress ?? "").replace(/^::ffff:/, "");
  return UdpPair.open(local).catch(() => {
    throw new RequestRefusal(453, "no UDP ports are free: use TCP");
  });
}

const describeTcp = ([rtp, rtcp]: readonly [number, number]): string =>
  `RTP/AVP/TCP;unicast;interleaved=${rtp}-${rtcp}`;

function describeUdp([rtp, rtcp]: readonly [number, number], pair: UdpPair): string {
  const [ownRtp, ownRtcp] = pair.ports;
  return `RTP/AVP;unicast;client_port=${rtp}-${rtcp};server_port=${ownRtp}-${ownRtcp}`;
}
