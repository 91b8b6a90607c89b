/** Registration of streams, and changes of sources. */
import { createHash } from "node:crypto";
import type { NewStream, SourceChange } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { readListeningPort, readResource, readSrtAddress, readUdpAddress } from "../../schemas/srt-address.ts";
import { plainHost, readPortRange } from "../net/addresses.ts";
import { guardAddress } from "../net/guard.ts";
import { lowerHost, readAuthority } from "../net/url.ts";
import { invalidInput } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { saveRecordingSetting } from "../store/rings.ts";
import {
  findIdentical,
  findSource,
  portOf,
  type Registered,
  registerSource,
  type SourceRow,
  type TelemetrySetting,
  updateSource,
} from "../store/sources.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { brokerUrl, keepSecrets, readTelemetry } from "./telemetry-cfg.ts";

interface RegistrationDeps {
  readonly sql: Sql;
  readonly config: Config;
}

/** The media hub of this server, and those of other nodes. */
interface OwnHub {
  readonly rtspPort: number;
  readonly rtmpPort: number;
  readonly srtPort: number;
  /** Null without TLS. */
  readonly rtspsPort: number | null;
  readonly rtmpsPort: number | null;
  isOwnHost(host: string): boolean;
  readonly others?: readonly { readonly hosts: readonly string[]; readonly rtspPort: number | null }[];
}

/** Masked secrets, as credentials of a URL or as a parameter of its query. */
const MASKED = /:\/\/\*{3}@|=\*{3}(?:[&;#]|$)/;

export async function registerStream(
  { sql, config, hub }: RegistrationDeps & { readonly hub: OwnHub },
  user: User,
  body: NewStream,
): Promise<Registered> {
  const inputUrl = body.input_url;
  const authority = readAuthority(inputUrl);
  if (typeof authority === "string") throw invalid("/input_url", `cannot be read: ${authority}`);
  if (MASKED.test(inputUrl)) throw invalid("/input_url", "has masked credentials (***); send the real ones");
  const telemetryCfg = restoreSecrets(readTelemetry(body.telemetry_cfg), null);
  expectPortOffered(telemetryCfg, config);
  const identity = identifyStream(inputUrl, telemetryCfg);
  const identical = await findIdentical(sql, user.uuid, identity);
  if (identical !== null) return { source: identical, isNew: false };
  const hubPath = findHubPath(inputUrl, user.username, hub);
  if (hubPath === null) expectTransport(inputUrl, config);
  // The server does not connect to a stream that is published to its own hub, or that it listens for.
  const isPulled = hubPath === null && readListeningPort(inputUrl) === null;
  const guarded = isPulled ? guardAddress(inputUrl, config.network, "/input_url") : null;
  await Promise.all([guarded, guardBroker(telemetryCfg, config)]);
  const source = {
    uuid: newUuid(),
    alias: body.alias,
    type: "stream",
    streamType: body.stream_type,
    inputUrl,
    telemetryCfg,
    hubPath,
    identity,
    fileName: null,
    fileBytes: null,
    durationMs: null,
    video: null,
    recordedAt: null,
    startMs: 0,
    loop: false,
  } as const;
  const mode = body.recording;
  return sql.begin(async (transaction) => {
    const registered = await registerSource(transaction, user.uuid, source, user.limits.sources);
    if (registered.isNew && mode !== undefined) await saveRecordingSetting(transaction, source.uuid, { mode });
    return registered;
  });
}

/** Of SRT and UDP. Throws `invalid_input`. */
function expectTransport(url: string, { media }: Config): void {
  const scheme = url.slice(0, url.indexOf(":")).toLowerCase();
  if (scheme !== "srt" && scheme !== "udp") return;
  const address = scheme === "srt" ? readSrtAddress(url) : readUdpAddress(url);
  if (typeof address === "string") throw invalid("/input_url", `cannot be read: ${address}`);
  const port = readListeningPort(url);
  if (port === null) return;
  const isAllowed = media.source_ports.some((text) => {
    const [first, last] = readPortRange(text) ?? [0, 0];
    return port >= first && port <= last;
  });
  if (!isAllowed)
    throw invalid(
      "/input_url",
      `listens on port ${port}, which sources may not use; ${
        media.source_ports.length === 0
          ? "this service allows none"
          : `expected one of ${media.source_ports.join(", ")}`
      } (media.source_ports)`,
    );
  if ("passphrase" in address && address.passphrase === null)
    throw invalid("/input_url", "listens without a passphrase: anyone could send video; add &passphrase=");
}

/** A masked secret stays unchanged. */
export async function changeSource(
  { sql, config }: RegistrationDeps,
  user: User,
  uuid: string,
  body: SourceChange,
): Promise<SourceRow> {
  const given = readTelemetry(body.telemetry_cfg);
  expectPortOffered(given, config);
  // Before the broker is resolved; `updateSource` checks again under a lock.
  await findSource(sql, user.uuid, uuid);
  await guardBroker(given, config);
  return updateSource(sql, user.uuid, uuid, (source) => {
    const telemetryCfg =
      body.telemetry_cfg === undefined ? source.telemetryCfg : restoreSecrets(given, source.telemetryCfg);
    return {
      alias: body.alias ?? source.alias,
      telemetryCfg,
      identity: source.type === "stream" ? identifyStream(source.inputUrl, telemetryCfg) : null,
    };
  });
}

/** Two streams of a user with the same 32 bytes are the same source. The alias does not count. */
const identifyStream = (inputUrl: string, telemetry: TelemetrySetting | null): Buffer =>
  createHash("sha256")
    .update(canonicalJson(["stream", lowerHost(inputUrl), telemetry === null ? null : { ...telemetry }]))
    .digest();

function restoreSecrets(given: TelemetrySetting | null, before: TelemetrySetting | null): TelemetrySetting | null {
  if (given === null) return null;
  const restored = keepSecrets(given, before);
  if (restored !== null) return restored;
  throw invalid(
    "/telemetry_cfg/parameters/password",
    "is masked, and no password is stored for this host, port and user; send the password itself",
  );
}

function expectPortOffered(setting: TelemetrySetting | null, { telemetry }: Config): void {
  const port = portOf(setting);
  const { udp_port_first: first, udp_port_last: last } = telemetry;
  if (port === null || (port >= first && port <= last)) return;
  const offered = last === 0 ? "this service accepts no telemetry over UDP" : `expected ${first} to ${last}`;
  throw invalid("/telemetry_cfg/parameters/port", `is ${port}; ${offered}`);
}

async function guardBroker(telemetry: TelemetrySetting | null, { network }: Config): Promise<void> {
  const url = telemetry === null ? null : brokerUrl(telemetry);
  if (url !== null) await guardAddress(url, network, "/telemetry_cfg/parameters/ip");
}

const invalid = (path: string, message: string) => invalidInput([{ path, message }]);

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._~-]*$/;
const MAX_PATH_CHARACTERS = 255;
const USUAL_PORTS: Readonly<Record<string, number>> = { rtsp: 554, rtmp: 1935, rtsps: 322, rtmps: 443 };

/**
 * `<username>/<path>` of a media-server source; null for a stream of another host. Throws `invalid_input` if the URL is of
 * this server's hub and the path is not one that this user may have.
 */
export function findHubPath(inputUrl: string, username: string, hub: OwnHub): string | null {
  const authority = readAuthority(inputUrl);
  if (typeof authority === "string") return null;
  const { scheme, host, port, rest, writtenHost } = authority;
  const hubPort = findHubPort(hub, scheme, host, port ?? USUAL_PORTS[scheme]);
  if (hubPort === null) return null;
  const path = readHubPath(scheme === "srt" ? findResource(inputUrl, rest) : rest);
  if (path?.startsWith(`${username}/`)) return path;
  throw invalid(
    "/input_url",
    `is on the media server of this service, where your paths are below your username: expected ${scheme}://${writtenHost}:${hubPort}/${username}/ and a path whose segments consist of letters, digits and ._~- and start with a letter, a digit or _`,
  );
}

/** `srt://host:8890/<username>/<path>`, or the resource of the stream id. */
function findResource(inputUrl: string, rest: string): string {
  const address = readSrtAddress(inputUrl);
  const streamId = typeof address === "string" ? null : address.streamId;
  return streamId === null ? rest : (readResource(streamId) ?? "");
}

/** Null: it is not the address of a media hub of this service. */
function findHubPort(hub: OwnHub, scheme: string, host: string, port: number | undefined): number | null {
  const ownPorts: Readonly<Record<string, number | null>> = {
    ...{ rtsp: hub.rtspPort, rtmp: hub.rtmpPort, srt: hub.srtPort },
    ...{ rtsps: hub.rtspsPort, rtmps: hub.rtmpsPort },
  };
  const ownPort = ownPorts[scheme] ?? null;
  if (ownPort === null || port === undefined) return null;
  if (port === ownPort && hub.isOwnHost(host)) return port;
  // Nodes listen on the same ports, unless their RTSP ports are known to differ.
  const isOther = (hub.others ?? []).some(
    ({ hosts, rtspPort }) =>
      hosts.includes(plainHost(host)) && (port === ownPort || (scheme === "rtsp" && port === rtspPort)),
  );
  return isOther ? port : null;
}

/** By the same rules as the hub. */
function readHubPath(rest: string): string | null {
  const [written = ""] = rest.split(/[?#]/);
  const segments = written
    .replace(/^\/|\/$/g, "")
    .split("/")
    .map(decode);
  const path = segments.join("/");
  return segments.every((segment) => SEGMENT.test(segment)) && path.length <= MAX_PATH_CHARACTERS ? path : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
