/** What is really connected to: an address that has been checked, and no name that could mean another a moment later. */
import { connect } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { guardAddress, pinAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";

/** Asked before every connection. Rejects with `address_refused`, or `source_not_live` for a name that leads nowhere. */
export type Locate = () => Promise<string>;

export interface LocatedStream {
  readonly locate: Locate;
  /** What `locate` found last, for a name that stays: runners connect to these alone. */
  addresses(): readonly string[];
}

/** With TLS the name stays: the certificate is for it. */
const PORTS: Readonly<Record<string, number>> = { rtsp: 554, rtmp: 1935 };
const MOST_TRIED = 8;
const REACH_MS = 1_000;

/** @param known what the name leads to at this moment, if that was looked up: the first call looks no further */
export function locateStream(url: string, network: Config["network"], known: readonly string[] | null): LocatedStream {
  let fresh = known;
  let last: string | null = null;
  let found: readonly string[] = [];
  const locate = async (): Promise<string> => {
    const addresses = fresh ?? (await guardAddress(url, network, "source_uuid"));
    fresh = null;
    found = addresses;
    const [first] = addresses;
    if (first === undefined) throw leadsNowhere(url);
    const port = portOf(url);
    if (port === null) return url;
    const reached = await findReachable(addresses.slice(0, MOST_TRIED), port);
    if (reached === REFUSED) throw nobodyListens(url, port);
    // Where none answers it stays what it was: nothing speaks for another, and some take longer than we do.
    last = reached ?? (last !== null && addresses.includes(last) ? last : first);
    return pinAddress(url, last);
  };
  return { locate, addresses: () => found };
}

/** Null where the name has to stay. */
function portOf(url: string): number | null {
  const authority = readAuthority(url);
  if (typeof authority === "string") return null;
  const usual = PORTS[authority.scheme];
  return usual === undefined ? null : (authority.port ?? usual);
}

/** Every address says that nobody listens there: nothing that a runner could find out better. */
const REFUSED = Symbol("refused");

/** The first that answers: a name with several may have some that do not, such as one of IPv6 where there is none. */
async function findReachable(addresses: readonly string[], port: number): Promise<string | typeof REFUSED | null> {
  const sockets = addresses.map((host) => connect({ host, port, timeout: REACH_MS }));
  const answers = sockets.map(
    (socket, at) =>
      new Promise<string>((resolve, reject) => {
        socket.once("connect", () => resolve(addresses[at] ?? ""));
        socket.once("timeout", () => reject(new Error("no answer")));
        socket.on("error", reject);
      }),
  );
  try {
    return await Promise.any(answers);
  } catch (error) {
    const reasons = (error as AggregateError).errors as readonly NodeJS.ErrnoException[];
    return reasons.every(({ code }) => code === "ECONNREFUSED") ? REFUSED : null;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const nobodyListens = (url: string, port: number): ServiceError =>
  new ServiceError("source_not_live", {
    detail: `cannot play ${maskCredentials(url)}: nobody listens on port ${port} there`,
  });

function leadsNowhere(url: string): ServiceError {
  const authority = readAuthority(url);
  const host = typeof authority === "string" ? "" : authority.host;
  return new ServiceError("source_not_live", {
    detail: `cannot play ${maskCredentials(url)}: no host of the name ${host} can be found`,
  });
}
