/** Parses `srt://` and `udp://` addresses of sources and outputs, for the service, which checks them, and the elements. */

export interface SrtAddress {
  /** Without brackets. Of a listener: the address to listen on. */
  readonly host: string;
  readonly port: number;
  readonly mode: "caller" | "listener";
  readonly streamId: string | null;
  readonly passphrase: string | null;
  /** Null: the default. */
  readonly latencyMs: number | null;
  /** Of the encryption. Null: the default of the peers. */
  readonly keyBytes: 16 | 24 | 32 | null;
}

export interface UdpAddress {
  /** Without brackets: the address to listen on, or a multicast group. */
  readonly host: string;
  readonly port: number;
}

const SETTINGS = ["streamid", "passphrase", "latency", "mode", "pbkeylen"];
/** Limits of SRT. */
const MAX_STREAM_ID_BYTES = 512;
const PASSPHRASE = /^[\x20-\x7e]{10,79}$/;
const MAX_LATENCY_MS = 60_000;
const KEY_BYTES = { "16": 16, "24": 24, "32": 32 } as const;

/**
 * The address, or what is wrong with it, without secrets. Stream ids begin with `#`, which senders write both as it is and as
 * `%23`: here, it does not begin a fragment.
 */
export function readSrtAddress(text: string): SrtAddress | string {
  const mark = text.indexOf("?");
  const base = mark === -1 ? text : text.slice(0, mark);
  const url = URL.canParse(base) ? new URL(base) : null;
  if (url === null || url.protocol !== "srt:" || url.hostname === "" || url.port === "" || url.port === "0")
    return "expected srt://host:port, with ?streamid=, passphrase=, latency= (milliseconds) if needed";
  const settings = new Map<string, string>();
  for (const pair of mark === -1 ? [] : text.slice(mark + 1).split("&")) {
    const at = pair.indexOf("=");
    const name = at === -1 ? pair : pair.slice(0, at);
    if (!SETTINGS.includes(name)) return `SRT has no setting "${name.slice(0, 40)}"; expected ${SETTINGS.join(", ")}`;
    const value = decode(pair.slice(at + 1));
    if (at === -1 || value === null) return `the value of ${name} is missing, or has a % that is not an escape`;
    settings.set(name, value);
  }
  const streamId = settings.get("streamid") ?? null;
  const passphrase = settings.get("passphrase") ?? null;
  const mode = settings.get("mode") ?? "caller";
  const latency = settings.get("latency");
  const keyBytes = KEY_BYTES[(settings.get("pbkeylen") ?? "") as keyof typeof KEY_BYTES] ?? null;
  if (mode !== "caller" && mode !== "listener") return "mode is neither caller nor listener";
  if (streamId !== null && Buffer.byteLength(streamId) > MAX_STREAM_ID_BYTES)
    return `the streamid has more than ${MAX_STREAM_ID_BYTES} bytes`;
  if (passphrase !== null && !PASSPHRASE.test(passphrase)) return "a passphrase has 10 to 79 ASCII characters";
  if (latency !== undefined && !(/^\d{1,5}$/.test(latency) && Number(latency) <= MAX_LATENCY_MS))
    return `latency is not a number of milliseconds up to ${MAX_LATENCY_MS}`;
  if (settings.has("pbkeylen") && keyBytes === null) return "pbkeylen is not 16, 24 or 32";
  return {
    ...{ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port), mode, streamId, passphrase, keyBytes },
    latencyMs: latency === undefined ? null : Number(latency),
  };
}

export function readUdpAddress(text: string): UdpAddress | string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.pathname.replace("/", "") === "" && url.search === "" && url.hash === "";
  if (!isPlain || url.protocol !== "udp:" || url.hostname === "" || url.port === "" || url.port === "0")
    return "expected udp://0.0.0.0:port, or udp://group:port of a multicast group";
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) };
}

/** The UDP port of this machine on which a source listens; null: it connects to its host. */
export function readListeningPort(url: string): number | null {
  if (/^udp:/i.test(url)) {
    const address = readUdpAddress(url);
    return typeof address === "string" ? null : address.port;
  }
  const address = /^srt:/i.test(url) ? readSrtAddress(url) : "";
  return typeof address === "string" || address.mode === "caller" ? null : address.port;
}

/** The path in the stream id of SRT Access Control: `r` of `#!::r=USER/PATH,m=publish`. Null: it has none. */
export function readResource(streamId: string): string | null {
  if (!streamId.startsWith("#!::")) return null;
  const field = streamId
    .slice(4)
    .split(",")
    .find((part) => part.startsWith("r="));
  return field?.slice(2) ?? null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
