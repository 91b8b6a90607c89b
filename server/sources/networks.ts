/** Which addresses are never connected to, whoever asks. */
import { BlockList, isIP, isIPv4 } from "node:net";

/** Link-local, and where clouds answer their own machines: what is there is nobody's stream. */
const NEVER: readonly string[] = [
  "169.254.0.0/16",
  "fe80::/10",
  "fd00:ec2::254",
  "fd20:ce::254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  // No single host: everybody, nobody, or this machine by another name.
  "0.0.0.0/8",
  "::",
  "255.255.255.255",
  "ff00::/8",
];

/** Of these some will do for datagrams; those of the link are for routers and for finding services. */
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

/** Throws for an entry of `network.deny` that is no network. */
export function blockNetworks(
  denied: readonly string[],
  { allowsGroups = false }: { readonly allowsGroups?: boolean } = {},
): BlockList {
  const list = new BlockList();
  for (const text of [...NEVER, allowsGroups ? LINK_GROUPS : GROUPS, ...denied]) {
    const network = readNetwork(text);
    if (network === null) throw new Error(`network.deny: "${text}" is no network; expected one like 10.0.0.0/8`);
    list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

/** Whether the list has it, also as the IPv4 address that an IPv6 one stands for. */
export function isBlocked(list: BlockList, address: string): boolean {
  if (isIPv4(address)) return list.check(address, "ipv4");
  const [plain = ""] = address.split("%");
  const inner = unwrapIpv4(plain);
  return list.check(plain, "ipv6") || (inner !== null && list.check(inner, "ipv4"));
}

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
