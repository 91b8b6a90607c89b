/** Names and addresses that mean this machine. */
import { BlockList, isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { Config } from "../../schemas/config.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Asked anew each time: addresses of a machine come and go. */
export function isOwnHost(host: string, { public_url, media }: Config, publicUrl: string | null): boolean {
  const name = plain(host);
  if (name === "localhost" || isLoopback(name)) return true;
  const urls = [public_url, publicUrl].flatMap((url) => (url === null ? [] : new URL(url).hostname));
  const names = [...urls, ...media.hosts, hostname()].map(plain);
  return names.includes(name) || listOwnAddresses().includes(name);
}

const plain = (host: string): string => {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, "");
  return bare.replace(/\.$/, "").replace(/^::ffff:(?=\d+\.)/, "");
};

function isLoopback(name: string): boolean {
  const family = isIP(name);
  return family !== 0 && loopback.check(name, family === 6 ? "ipv6" : "ipv4");
}

/** Of every interface of this machine. */
export const listOwnAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((entries = []) =>
    entries.map(({ address }) => address.split("%")[0] ?? ""),
  );
