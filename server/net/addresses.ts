/** Which addresses are connected to when a client names them. docs/security.md says why. */
import { BlockList, isIP, isIPv4 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { Config } from "../../schemas/config.ts";

/** Link-local, cloud metadata, and what is not a single host: no configuration opens these. */
const NEVER: readonly string[] = [
  "169.254.0.0/16",
  "fe80::/10",
  "fd00:ec2::254",
  "fd20:ce::254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "0.0.0.0/8",
  "::",
  "255.255.255.255",
  "ff00::/8",
];

/** Loopback, private and special-purpose networks (RFC 6890): closed until `network.allow` opens them. */
const CLOSED: readonly string[] = [
  "127.0.0.0/8",
  "::1",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "192.0.0.0/24",
  "198.18.0.0/15",
  "240.0.0.0/4",
  "fc00::/7",
  "fec0::/10",
  // NAT64 of the site's own: where in it the IPv4 address is depends on the site.
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/32",
];

/** Multicast: a target of datagrams may be in it, except in the groups of the local link (routing, discovery). */
const GROUPS = "224.0.0.0/4";
const LINK_GROUPS = "224.0.0.0/24";

const MOST_BITS = { ipv4: 32, ipv6: 128 } as const;

/** `10.0.0.0/8`, `fd00::/8` or one address. Null when it is none of these. */
export function readNetwork(text: string): { address: string; bits: number; family: "ipv4" | "ipv6" } | null {
  const [address = "", bitsText, ...rest] = text.trim().split("/");
  if (isIP(address) === 0 || rest.length > 0) return null;
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const most = MOST_BITS[family];
  if (bitsText === undefined) return { address, bits: most, family };
  const bits = /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : Number.NaN;
  return bits <= most ? { address, bits, family } : null;
}

/** For those who connect by themselves: also where IPv6 carries IPv4 by NAT64 and 6to4. */
export function listDenied({ deny }: { readonly deny: readonly string[] }): readonly string[] {
  const denied = [...NEVER, LINK_GROUPS, ...deny];
  return denied.flatMap((text) => {
    const network = readNetwork(text);
    if (network?.family !== "ipv4") return [text];
    const [a = 0, b = 0, c = 0, d = 0] = network.address.split(".").map(Number);
    const tail = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16)).join(":");
    return [text, `64:ff9b::${tail}/${96 + network.bits}`, `2002:${tail}::/${16 + network.bits}`];
  });
}

/** What is connected to, for one kind of use. */
export interface AddressPolicy {
  /** HTTP: any service of a private network would understand it. */
  readonly isWeb: boolean;
  /** Datagrams, which a multicast group may receive. */
  readonly allowsGroups: boolean;
}

/** Whether an address must not be connected to. Throws for an entry that is not a network. */
export function blockAddresses(
  { deny, allow, allow_devices }: Pick<Config["network"], "deny" | "allow" | "allow_devices">,
  { isWeb, allowsGroups }: AddressPolicy,
): (address: string) => boolean {
  const never = readNetworks([...NEVER, allowsGroups ? LINK_GROUPS : GROUPS, ...deny], "network.deny");
  const closed = readNetworks(CLOSED, "");
  const open = readNetworks(allow, "network.allow");
  const openToUse = isWeb ? open : readNetworks([...allow, ...allow_devices], "network.allow_devices");
  return (address) => {
    const [plain = ""] = address.split("%");
    const inner = isIPv4(plain) ? null : unwrapIpv4(plain);
    // This machine by another of its addresses is as good as loopback, also within a network of cameras.
    const own = readNetworks(listOwnAddresses(), "");
    return [plain, ...(inner === null ? [] : [inner])].some(
      (form) =>
        has(never, form) || (has(closed, form) && !has(openToUse, form)) || (has(own, form) && !has(open, form)),
    );
  };
}

/** Throws for an entry that is not a network. */
export function readNetworks(entries: readonly string[], key: string): BlockList {
  const list = new BlockList();
  for (const text of entries) {
    const network = readNetwork(text);
    if (network === null) throw new Error(`${key}: "${text}" is not a network; expected one like 10.0.0.0/8`);
    list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

const has = (list: BlockList, address: string): boolean => list.check(address, isIPv4(address) ? "ipv4" : "ipv6");

/** Mapped (::ffff:0:0/96), compatible (::/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16) addresses carry an IPv4 one. */
function unwrapIpv4(address: string): string | null {
  const groups = expandGroups(address);
  const starts = (...expected: readonly number[]) => expected.every((group, index) => groups[index] === group);
  if (starts(0x2002)) return joinIpv4(groups[1], groups[2]);
  const isWrapped = starts(0, 0, 0, 0, 0, 0xffff) || starts(0, 0, 0, 0, 0, 0) || starts(0x64, 0xff9b, 0, 0, 0, 0);
  // ::1 is the loopback address and no 0.0.0.1.
  if (!isWrapped || (starts(0, 0, 0, 0, 0, 0, 0) && (groups[7] ?? 0) <= 1)) return null;
  return joinIpv4(groups[6], groups[7]);
}

const joinIpv4 = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");

/** Eight numbers of a valid address. */
function expandGroups(address: string): number[] {
  const hex = address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(":"),
  );
  const [head = "", tail] = hex.split("::");
  const groupsOf = (text: string) => text.split(":").filter((group) => group !== "");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(missing).fill("0"), ...after].map((group) => Number.parseInt(group, 16));
}

/** Names and addresses that mean this machine. */

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Read each time: addresses of a machine come and go. */
export function isOwnHost(host: string, { public_url, media }: Config, publicUrl: string | null): boolean {
  const name = plainHost(host);
  if (name === "localhost" || isLoopback(name)) return true;
  const urls = [public_url, publicUrl].flatMap((url) => (url === null ? [] : new URL(url).hostname));
  const names = [...urls, ...media.hosts, hostname()].map(plainHost);
  return names.includes(name) || listOwnAddresses().includes(name);
}

const LINK_LOCAL = /^(?:169\.254\.|fe80:)/;

/** By which other machines know this one. */
export function listOwnHosts({ public_url, media, cluster }: Config): readonly string[] {
  const urls = [public_url, cluster.url].flatMap((url) => (url === null ? [] : new URL(url).hostname));
  const names = [...urls, ...media.hosts, hostname(), ...listOwnAddresses()].map(plainHost);
  const isLocal = (name: string): boolean => name === "localhost" || isLoopback(name) || LINK_LOCAL.test(name);
  return [...new Set(names)].filter((name) => !isLocal(name));
}

export const plainHost = (host: string): string => {
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

/** `5000` or `5000-5010`: the first and the last port. Null unless it is one. */
export function readPortRange(text: string): readonly [first: number, last: number] | null {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = [Number(first ?? 0), Number(last ?? 0)] as const;
  return range[0] >= 1 && range[0] <= range[1] && range[1] <= 65_535 ? range : null;
}
