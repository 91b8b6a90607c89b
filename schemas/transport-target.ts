/** Parses the destination URL of transport streams, for the service, which validates it, and the element, which uses it. */
import { readCotTarget, type UdpTarget } from "./cot-target.ts";

export const TRANSPORT_URL = "^udp://[^/?#@\\s\\\\]+:\\d{1,5}/?(\\?ttl=\\d{1,3})?$";
export const TRANSPORT_URL_MEANS = "`udp://host:port`, with `?ttl=8` for a multicast group beyond the next router.";

/** The target, or an error text. */
export function readTransportTarget(url: string): UdpTarget | string {
  const target = readCotTarget(url);
  return typeof target === "string" || target.scheme !== "udp" ? "is not a URL like udp://host:port" : target;
}
