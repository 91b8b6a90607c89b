/** The parts of an address that a client sends: `rtmp://host/app/name` with everything before the last slash as the app. */

export interface RtmpAddress {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  readonly app: string;
  /** With the query: that is where servers look for keys. */
  readonly name: string;
  readonly tcUrl: string;
}

/** Throws a `TypeError` for what is no address of RTMP. Its message holds nothing of the address, which may be secret. */
export function readRtmpAddress(address: string): RtmpAddress {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !["rtmp:", "rtmps:"].includes(url.protocol) || url.hostname === "") {
    throw new TypeError("an address that begins with rtmp:// or rtmps:// and names a host was expected");
  }
  const isSecure = url.protocol === "rtmps:";
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const name = segments.length > 1 ? (segments.pop() ?? "") : "";
  const app = segments.join("/");
  return {
    isSecure,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isSecure ? 443 : 1935) : Number(url.port),
    app,
    name: `${name}${readQuery(url)}`,
    tcUrl: `${url.protocol}//${url.host}/${app}`,
  };
}

/** RTMP has no place for a user and a password of its own; servers that want some look for them in the query. */
function readQuery({ search, username, password }: URL): string {
  if (password === "") return search;
  return `${search === "" ? "?" : `${search}&`}user=${username}&pass=${password}`;
}
