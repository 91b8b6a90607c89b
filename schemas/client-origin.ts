/** Identifies a client's host, for limits per client. */
import { isIPv6 } from "node:net";

/** An IPv4-mapped IPv6 address as IPv4, and without a zone identifier. */
export function plainAddress(address: string): string {
  const [plain = ""] = address.toLowerCase().split("%", 1);
  return /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/.exec(plain)?.[1] ?? plain;
}

/** The same for all addresses of one host: an IPv4 address, or the first 64 bits of IPv6. */
export function originOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [front = "", back] = plain.split("::");
  const groups = front === "" ? [] : front.split(":");
  if (back !== undefined) {
    const after = back === "" ? [] : back.split(":");
    const missing = 8 - groups.length - after.length - (back.includes(".") ? 1 : 0);
    groups.push(...Array<string>(Math.max(missing, 0)).fill("0"), ...after);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
