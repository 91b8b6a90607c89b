/** Reads the host of a URL, and rejects URLs in which other parsers could find another host. */
import { isIP, isIPv6 } from "node:net";

export interface Authority {
  readonly scheme: string;
  /** As it is connected to: without brackets, and an IPv4 address in any notation as four numbers. */
  readonly host: string;
  readonly port: number | null;
  readonly userinfo: string | null;
  /** Beginning at the path. */
  readonly rest: string;
  /** How and where the host stands in the URL. */
  readonly writtenHost: string;
  readonly hostAt: number;
}

const URL_PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is;
const HOST_PARTS = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?)(?::(\d{1,5}))?$/i;

/** Or why it cannot be read. Stricter than the standard: readers differ on two `@`, on `\` and on escapes in a host. */
export function readAuthority(url: string): Authority | string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[\u0000-\u0020\u007f\\]/.test(url))
    return "spaces, control characters and backslashes have no place in an address";
  const parts = URL_PARTS.exec(url);
  if (parts === null) return "expected an address like scheme://host:port/path";
  const [, scheme = "", authority = "", rest = ""] = parts;
  const pieces = authority.split("@");
  if (pieces.length > 2) return "it has more than one @ before its path; write those of a password as %40";
  const hostAndPort = pieces.at(-1) ?? "";
  const found = HOST_PARTS.exec(hostAndPort);
  if (found === null) return "its host or port cannot be read";
  const [, writtenHost = "", portText] = found;
  const host = readHost(writtenHost);
  if (host === null) return "its host cannot be read";
  const port = portText === undefined ? null : Number(portText);
  if (port !== null && (port < 1 || port > 65_535)) return "its port is not between 1 and 65535";
  return {
    scheme: scheme.toLowerCase(),
    host,
    port,
    userinfo: pieces.length === 2 ? (pieces[0] ?? "") : null,
    rest,
    writtenHost,
    hostAt: url.length - rest.length - hostAndPort.length,
  };
}

function readHost(written: string): string | null {
  if (written.startsWith("[")) {
    const inner = written.slice(1, -1);
    return isIPv6(inner) ? inner : null;
  }
  if (isIP(written) !== 0) return written;
  // Of these URLs the standard reads decimal, octal, hexadecimal and shortened IPv4 as the resolver does.
  const web = `http://${written}/`;
  if (!URL.canParse(web)) return null;
  const { hostname } = new URL(web);
  return isIP(hostname) === 4 ? hostname : written;
}

/** With scheme and host in lower case, where case has no meaning; the rest may be case-sensitive. */
export function lowerHost(url: string): string {
  const authority = readAuthority(url);
  if (typeof authority === "string") return url;
  const { hostAt, writtenHost, scheme } = authority;
  const between = url.slice(scheme.length, hostAt);
  return `${scheme}${between}${writtenHost.toLowerCase()}${url.slice(hostAt + writtenHost.length)}`;
}
