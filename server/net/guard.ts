/** Before anything is connected to that a client has named: streams, outputs, brokers, webhooks. */
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { ServiceError } from "../service-error.ts";
import { type AddressPolicy, blockAddresses } from "./addresses.ts";
import { readAuthority } from "./url.ts";

type NetworkConfig = Config["network"];

/** Names that mean a cloud's own services wherever they lead to. */
const REFUSED_NAMES = new Set(["metadata", "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"]);

/** Timeout of resolving a host name. */
const RESOLVE_MS = 3_000;

type IsBlocked = (address: string) => boolean;

const known = new WeakMap<NetworkConfig, Map<string, IsBlocked>>();

/**
 * The addresses that the host of this URL stands for now; a name that leads nowhere has none. Rejects with
 * `address_refused` when one of them may not be connected to, and for a URL that could be read in two ways. Anyone who
 * connects should use one of these addresses, or ask again right before: names change.
 * @param path which input of the client's it came by
 * @param allowsGroups allows IPv4 multicast addresses, except link-local ones
 */
export async function guardAddress(
  url: string,
  network: NetworkConfig,
  path: string,
  { allowsGroups = false }: { readonly allowsGroups?: boolean } = {},
): Promise<readonly string[]> {
  const refuse = (reason: string): ServiceError =>
    new ServiceError("address_refused", {
      detail: `${maskCredentials(url).slice(0, 200)}: ${reason}`,
      errors: [{ path, message: `is refused: ${reason}` }],
    });
  const authority = readAuthority(url);
  if (typeof authority === "string") throw refuse(authority);
  const { host } = authority;
  if (REFUSED_NAMES.has(host.toLowerCase().replace(/\.$/, ""))) throw refuse(`${host} is not for streams`);
  const addresses = await resolveHost(host, RESOLVE_MS);
  const policy = { isWeb: /^https?$/.test(authority.scheme), allowsGroups };
  const isBlocked = policyOf(network, policy);
  const blocked = addresses.find(isBlocked);
  if (blocked === undefined) return addresses;
  const leads = blocked === host ? "" : `${host} leads to ${blocked}, and `;
  const [plain = ""] = blocked.split("%");
  const canBeAllowed = !blockAddresses({ ...network, allow: [...network.allow, plain] }, policy)(blocked);
  const remedy = canBeAllowed ? `; its operator can allow it: network.allow: [${plain}]` : "";
  throw refuse(`${leads}this service does not connect to that network${remedy}`);
}

/** The same address by number, for those who look the name up again; TLS needs the name and proves it. */
export function pinAddress(url: string, address: string): string {
  const authority = readAuthority(url);
  if (typeof authority === "string" || isIP(authority.host) !== 0) return url;
  const numeric = address.includes(":") ? `[${address}]` : address;
  return `${url.slice(0, authority.hostAt)}${numeric}${url.slice(authority.hostAt + authority.writtenHost.length)}`;
}

/** For sockets: resolves any name to these addresses, which were checked. */
export const lookupOnly =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, done) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (all === true) done(null, found);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };

function policyOf(network: NetworkConfig, policy: AddressPolicy): IsBlocked {
  const policies = known.get(network) ?? new Map<string, IsBlocked>();
  known.set(network, policies);
  const key = `${policy.isWeb} ${policy.allowsGroups}`;
  const isBlocked = policies.get(key) ?? blockAddresses(network, policy);
  policies.set(key, isBlocked);
  return isBlocked;
}

async function resolveHost(host: string, limitMs: number): Promise<readonly string[]> {
  if (isIP(host.split("%")[0] ?? "") !== 0) return [host];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly []>((resolve) => {
    timer = setTimeout(() => resolve([]), limitMs);
  });
  const found = lookup(host, { all: true, verbatim: true }).then(
    (entries) => entries.map(({ address }) => address),
    () => [],
  );
  try {
    return await Promise.race([found, late]);
  } finally {
    clearTimeout(timer);
  }
}
