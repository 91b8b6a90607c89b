/** The addresses that a browser may reach this machine at. */
import { isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

const LOOPBACK = "127.0.0.1";

/** The configured ones first, for the machine cannot know them; its own after them, and itself last, for a browser on it. */
export function listAddresses(configured: readonly string[], hasIpv6: boolean): string[] {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // Link-local ones mean nothing without the name of the other side's interface.
    .filter(({ internal, address }) => !internal && !address.toLowerCase().startsWith("fe80:"))
    .map(({ address }) => address);
  return [...new Set([...configured, ...own, LOOPBACK])].filter(
    (address) => isIP(address) !== 0 && (hasIpv6 || !isIPv6(address)),
  );
}
