/** The broker of an output, by any of the ways in which it may be written. */
import { isIPv6 } from "node:net";
import { readAuthority } from "../net/url.ts";

export interface BrokerAddress {
  /** `mqtt://host:port` or `mqtts://host:port`. */
  readonly url: string;
  /** As it was written, without userinfo. */
  readonly host: string;
  readonly username: string | null;
  readonly password: string | null;
}

const PORTS: Readonly<Record<string, number>> = { mqtt: 1883, mqtts: 8883 };
const EXPECTED = "expected `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`";

/** Or what is wrong with it. */
export function readBroker(written: string): BrokerAddress | string {
  const hasScheme = written.includes("://");
  const whole = hasScheme ? written : `mqtt://${isIPv6(written) ? `[${written}]` : written}`;
  const authority = readAuthority(whole);
  if (typeof authority === "string") return `cannot be read: ${authority}; ${EXPECTED}`;
  const { scheme, host, port, userinfo, rest } = authority;
  const usual = PORTS[scheme];
  if (usual === undefined) return `begins with ${scheme}://; ${EXPECTED}`;
  if (rest !== "" && rest !== "/") return `has more behind the host; ${EXPECTED}, and the topic as \`topic\``;
  const credentials = readUserinfo(userinfo);
  if (typeof credentials === "string") return credentials;
  const place = `${host.includes(":") ? `[${host}]` : host}`;
  return {
    url: `${scheme}://${place}:${port ?? usual}`,
    host: userinfo === null ? written : `${hasScheme ? `${scheme}://` : ""}${place}${port === null ? "" : `:${port}`}`,
    ...credentials,
  };
}

function readUserinfo(userinfo: string | null): Pick<BrokerAddress, "username" | "password"> | string {
  if (userinfo === null) return { username: null, password: null };
  if (userinfo.includes("***")) return "has masked credentials (***); send them as `username` and `password`";
  const at = userinfo.indexOf(":");
  try {
    const username = decodeURIComponent(at < 0 ? userinfo : userinfo.slice(0, at));
    return { username, password: at < 0 ? null : decodeURIComponent(userinfo.slice(at + 1)) };
  } catch {
    return "has a user or password with a % that begins no escape; write it as %25";
  }
}
