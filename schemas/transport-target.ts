/** Parses the destination URL of transport streams, for the service, which validates it, and the element, which uses it. */
import { readCotTarget, type UdpTarget } from "./cot-target.ts";
import { readSrtAddress, type SrtAddress } from "./srt-address.ts";

export const TRANSPORT_URL =
  "^(udp://[^/?#@\\s\\\\]+:\\d{1,5}/?(\\?ttl=\\d{1,3})?|srt://[^/?#\\s\\\\]+:\\d{1,5}/?([?][^\\s\\\\]*)?)$";
export const TRANSPORT_URL_MEANS =
  "`udp://host:port`, with `?ttl=8` for a multicast group beyond the next router; or `srt://host:port` of a listener, with `?streamid=`, `passphrase=`, `latency=` (milliseconds) and `pbkeylen=` if it needs them.";

export type TransportTarget = UdpTarget | ({ readonly scheme: "srt" } & SrtAddress);

/** The target, or an error text. */
export function readTransportTarget(url: string): TransportTarget | string {
  if (url.startsWith("srt:")) {
    const address = readSrtAddress(url);
    if (typeof address === "string") return `cannot be read: ${address}`;
    if (address.mode === "listener") return "has mode=listener; this service calls the receiver: leave it out";
    return { scheme: "srt", ...address };
  }
  const target = readCotTarget(url);
  return typeof target === "string" || target.scheme !== "udp"
    ? "is not a URL like udp://host:port or srt://host:port"
    : target;
}
