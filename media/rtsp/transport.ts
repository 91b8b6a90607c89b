/** The header `Transport` (RFC 2326, 12.39): how the packets of one track go. */

export interface TcpTransport {
  readonly kind: "tcp";
  /** Of RTP and RTCP; null where the server is to choose. */
  readonly channels: readonly [number, number] | null;
  readonly isRecord: boolean;
}

export interface UdpTransport {
  readonly kind: "udp";
  /** Of the client, for RTP and RTCP. */
  readonly ports: readonly [number, number];
  readonly isRecord: boolean;
}

export type Transport = TcpTransport | UdpTransport;

const MOST_CHANNEL = 255;
const MOST_PORT = 65_535;

/** The first of those asked for that can be served; null for none: multicast, secure profiles, ports that are missing. */
export function readTransport(header: string): Transport | null {
  for (const one of header.split(",")) {
    const transport = readOne(one.trim());
    if (transport !== null) return transport;
  }
  return null;
}

function readOne(text: string): Transport | null {
  const [protocol = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => splitParameter(part)));
  const isRecord = /^"?record"?$/i.test(parameters.get("mode") ?? "");
  if (parameters.has("multicast")) return null;
  switch (protocol.toUpperCase()) {
    case "RTP/AVP/TCP": {
      const given = parameters.get("interleaved");
      if (given === undefined) return { kind: "tcp", channels: null, isRecord };
      const channels = readPair(given, MOST_CHANNEL);
      return channels === null ? null : { kind: "tcp", channels, isRecord };
    }
    case "RTP/AVP":
    case "RTP/AVP/UDP": {
      const ports = readPair(parameters.get("client_port") ?? "", MOST_PORT);
      return ports === null || ports.includes(0) ? null : { kind: "udp", ports, isRecord };
    }
    default:
      return null;
  }
}

function splitParameter(part: string): [string, string] {
  const at = part.indexOf("=");
  return at === -1 ? [part.toLowerCase(), ""] : [part.slice(0, at).toLowerCase(), part.slice(at + 1)];
}

/** `4-5`, or `4` for the same. */
function readPair(text: string, most: number): readonly [number, number] | null {
  const [, first, second] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  if (first === undefined) return null;
  const low = Number(first);
  const high = second === undefined ? low + 1 : Number(second);
  return low > most || high > most || low === high ? null : [low, high];
}
