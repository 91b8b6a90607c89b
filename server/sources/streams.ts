/** Streams that are registered to be pulled, and changes of any source. */
import type { NewStream, SourceChange } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  findIdentical,
  findSource,
  type Registered,
  registerSource,
  type SourceRow,
  updateSource,
} from "../store/sources.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { findHubPath, type OwnHub } from "./hub-address.ts";
import { identifyStream } from "./identity.ts";
import { brokerUrl, keepSecrets, readTelemetry, type TelemetrySetting } from "./telemetry-cfg.ts";

interface StreamNeeds {
  readonly sql: Sql;
  readonly config: Config;
}

export interface RegisterNeeds extends StreamNeeds {
  readonly hub: OwnHub;
}

/** How we show what must not be seen: as credentials of an address, or as a part of its query. */
const MASKED = /:\/\/[^/?#]*\*{3}@|=\*{3}(?=[&;#]|$)/;

export async function registerStream(needs: RegisterNeeds, user: User, body: NewStream): Promise<Registered> {
  const { sql, config, hub } = needs;
  const inputUrl = body.input_url;
  expectReadable(inputUrl);
  const telemetryCfg = restore(readTelemetry(body.telemetry_cfg), null);
  const identity = identifyStream(inputUrl, telemetryCfg);
  const identical = await findIdentical(sql, user.uuid, identity);
  if (identical !== null) return { source: identical, isNew: false };
  const hubPath = findHubPath(inputUrl, user.username, hub);
  // What is published to us is not connected to.
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
  } as const;
  return sql.begin((transaction) => registerSource(transaction, user.uuid, source, user.limits.sources));
}

/** A secret that comes back masked stays what it was. */
export async function changeSource(
  { sql, config }: StreamNeeds,
  user: User,
  uuid: string,
  body: SourceChange,
): Promise<SourceRow> {
  const given = readTelemetry(body.telemetry_cfg);
  // Before its broker is looked up, and again below, where it cannot go away any more.
  await findSource(sql, user.uuid, uuid);
  await guardBroker(given, config);
  return updateSource(sql, user.uuid, uuid, (source) => {
    const telemetryCfg = body.telemetry_cfg === undefined ? source.telemetryCfg : restore(given, source.telemetryCfg);
    return {
      alias: body.alias ?? source.alias,
      telemetryCfg,
      identity: source.type === "stream" ? identifyStream(source.inputUrl, telemetryCfg) : null,
    };
  });
}

function restore(given: TelemetrySetting | null, before: TelemetrySetting | null): TelemetrySetting | null {
  if (given === null) return null;
  const restored = keepSecrets(given, before);
  if (restored !== null) return restored;
  throw invalid(
    "/telemetry_cfg/parameters/password",
    "is masked, and there is none to keep for this host, port and user; send the password itself",
  );
}

function expectReadable(inputUrl: string): void {
  const authority = readAuthority(inputUrl);
  if (typeof authority === "string") throw invalid("/input_url", `cannot be read: ${authority}`);
  if (MASKED.test(inputUrl)) throw invalid("/input_url", "has masked credentials (***); send the real ones");
}

async function guardBroker(telemetry: TelemetrySetting | null, { network }: Config): Promise<void> {
  const url = telemetry === null ? null : brokerUrl(telemetry);
  if (url !== null) await guardAddress(url, network, "/telemetry_cfg/parameters/ip");
}

const invalid = (path: string, message: string): ServiceError =>
  new ServiceError("invalid_input", { detail: `${path} ${message}.`, errors: [{ path, message }] });
