/** Registration of streams, and changes of sources. */
import { createHash } from "node:crypto";
import type { NewStream, SourceChange } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { plainHost } from "../net/addresses.ts";
import { guardAddress } from "../net/guard.ts";
import { lowerHost, readAuthority } from "../net/url.ts";
import { invalidInput } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { saveRecordingSetting } from "../store/rings.ts";
import {
  findIdentical,
  findSource,
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
  isOwnHost(host: string): boolean;
  readonly others?: readonly { readonly hosts: readonly string[]; readonly rtspPort: number | null }[];
}

/** Masked secrets, as credentials of a URL or as a parameter of its query. */
const MASKED = /:\/\/[^/?#]*\*{3}@|=\*{3}(?=[&;#]|$)/;

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
  const identity = identifyStream(inputUrl, telemetryCfg);
  const identical = await findIdentical(sql, user.uuid, identity);
  if (identical !== null) return { source: identical, isNew: false };
  const hubPath = findHubPath(inputUrl, user.username, hub);
  // The server does not connect to a stream that is published to its own hub.
  const guarded = hubPath === null ? guardAddress(inputUrl, config.network, "/input_url") : null;
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
    loop: false,
  } as const;
  const mode = body.recording;
  if (mode !== undefined && hubPath === null)
    throw invalid("/recording", "is for streams that are published to this service; leave it out");
  return sql.begin(async (transaction) => {
    const registered = await registerSource(transaction, user.uuid, source, user.limits.sources);
    if (registered.isNew && mode !== undefined) await saveRecordingSetting(transaction, source.uuid, { mode });
    return registered;
  });
}

/** A masked secret stays unchanged. */
export async function changeSource(
  { sql, config }: RegistrationDeps,
  user: User,
  uuid: string,
  body: SourceChange,
): Promise<SourceRow> {
  const given = readTelemetry(body.telemetry_cfg);
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

async function guardBroker(telemetry: TelemetrySetting | null, { network }: Config): Promise<void> {
  const url = telemetry === null ? null : brokerUrl(telemetry);
  if (url !== null) await guardAddress(url, network, "/telemetry_cfg/parameters/ip");
}

const invalid = (path: string, message: string) => invalidInput([{ path, message }]);

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._~-]*$/;
const MAX_PATH_CHARACTERS = 255;
const USUAL_PORTS: Readonly<Record<string, number>> = { rtsp: 554, rtmp: 1935 };

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
  const path = readHubPath(rest);
  if (path?.startsWith(`${username}/`)) return path;
  throw invalid(
    "/input_url",
    `is on the media server of this service, where your paths are below your username: expected ${scheme}://${writtenHost}:${hubPort}/${username}/ and a path whose segments consist of letters, digits and ._~- and start with a letter, a digit or _`,
  );
}

/** Null: it is not the address of a media hub of this service. */
function findHubPort(hub: OwnHub, scheme: string, host: string, port: number | undefined): number | null {
  const ownPort: number | undefined = { rtsp: hub.rtspPort, rtmp: hub.rtmpPort }[scheme];
  if (ownPort === undefined || port === undefined) return null;
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
