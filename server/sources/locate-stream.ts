/** Resolves the host of a stream to a permitted address, so that a runner never connects by a name that could change. */
import { connect } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { readListeningPort } from "../../schemas/srt-address.ts";
import { guardAddress, pinAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";

/** Called before every connection. Rejects with `address_refused`, or `source_not_live` if the name cannot be resolved. */
export type Locate = () => Promise<string>;

/** With TLS the name stays in the URL: the certificate is for it. */
const PORTS: Readonly<Record<string, number>> = { rtsp: 554, rtmp: 1935 };
/** Over UDP: whether an address answers is not known before the handshake. */
const DATAGRAMS: readonly string[] = ["srt"];
const MAX_TRIED = 8;
const CONNECT_MS = 1_000;

/**
 * `addresses` returns the last result of `locate` for a URL that keeps its name: runners connect only to these.
 * @param known addresses of the name, if just resolved: used by the first call
 */
export function locateStream(url: string, network: Config["network"], known: readonly string[] | null) {
  let fresh = known;
  let last: string | null = null;
  let found: readonly string[] = [];
  const locate = async (): Promise<string> => {
    // It waits for a sender: there is no host to connect to.
    if (readListeningPort(url) !== null) return url;
    const addresses = fresh ?? (await guardAddress(url, network, "source_uuid"));
    fresh = null;
    found = addresses;
    const [first] = addresses;
    const authority = readAuthority(url);
    const { host = "", scheme = "", port = null } = typeof authority === "string" ? {} : authority;
    if (first === undefined) throw notLive(url, `no host of the name ${host} can be found`);
    if (DATAGRAMS.includes(scheme)) {
      last = nextOf(addresses, last);
      return pinAddress(url, last);
    }
    const usualPort = PORTS[scheme];
    if (usualPort === undefined) return url;
    const reached = await findReachable(addresses.slice(0, MAX_TRIED), port ?? usualPort);
    if (reached === REFUSED) throw notLive(url, `connection refused on port ${port ?? usualPort}`);
    // Without a response the last address stays: the host may only be slow.
    last = reached ?? (last !== null && addresses.includes(last) ? last : first);
    return pinAddress(url, last);
  };
  return { locate, addresses: (): readonly string[] => found };
}

/** Of several addresses, each attempt uses the next one. */
const nextOf = (addresses: readonly string[], last: string | null): string =>
  addresses[(last === null ? 0 : addresses.indexOf(last) + 1) % addresses.length] ?? "";

/** Every address refused the connection. */
const REFUSED = Symbol("refused");

/** The first that accepts a connection: of several some may be unreachable, such as IPv6 addresses without IPv6. Null: none responded. */
async function findReachable(addresses: readonly string[], port: number): Promise<string | typeof REFUSED | null> {
  const sockets = addresses.map((host) => connect({ host, port, timeout: CONNECT_MS }));
  const connections = sockets.map(
    (socket, i) =>
      new Promise<string>((resolve, reject) => {
        socket.once("connect", () => resolve(addresses[i] ?? ""));
        socket.once("timeout", () => reject(new Error("timed out")));
        socket.on("error", reject);
      }),
  );
  try {
    return await Promise.any(connections);
  } catch (error) {
    const reasons = (error as AggregateError).errors as readonly NodeJS.ErrnoException[];
    return reasons.every(({ code }) => code === "ECONNREFUSED") ? REFUSED : null;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const notLive = (url: string, reason: string): ServiceError =>
  new ServiceError("source_not_live", { detail: `cannot play ${maskCredentials(url)}: ${reason}` });
