/**
 * The outputs of an alert: as clients send them, as they are stored, as they are shown, and as destinations of deliveries.
 * Their schemas have been checked before.
 */
import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { MASK, type MqttOutputConfig, type WebhookOutputConfig } from "../../schemas/api/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { BROKER_PORTS } from "../mqtt/broker.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { StoredOutput } from "../store/alerts.ts";
import type { Destination } from "../store/destinations.ts";
import { newUuid } from "../uuid.ts";

export type GivenOutput =
  | { readonly type: "mqtt"; readonly config: MqttOutputConfig }
  | { readonly type: "webhook"; readonly config: WebhookOutputConfig };

const SECRET_BYTES = 24;

const pathTo = (index: number, field: string): string => `/output/${index}/config/${field}`;

interface BrokerAddress {
  readonly url: string;
  /** As it was written, without credentials. */
  readonly host: string;
  readonly username: string | null;
  readonly password: string | null;
}

const EXPECTED = "expected `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`";

/** Or what is wrong with it. */
function readBroker(written: string): BrokerAddress | string {
  const hasScheme = written.includes("://");
  const authority = readAuthority(hasScheme ? written : `mqtt://${isIPv6(written) ? `[${written}]` : written}`);
  if (typeof authority === "string") return `is not valid: ${authority}; ${EXPECTED}`;
  const { scheme, host, port, userinfo, rest } = authority;
  const usualPort = BROKER_PORTS[scheme];
  if (usualPort === undefined) return `begins with ${scheme}://; ${EXPECTED}`;
  if (rest !== "" && rest !== "/") return `has more behind the host; ${EXPECTED}, and the topic as \`topic\``;
  const credentials = readUserinfo(userinfo);
  if (typeof credentials === "string") return credentials;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `${scheme}://${name}:${port ?? usualPort}`,
    host: userinfo === null ? written : `${hasScheme ? `${scheme}://` : ""}${name}${port === null ? "" : `:${port}`}`,
    ...credentials,
  };
}

function readUserinfo(userinfo: string | null): Pick<BrokerAddress, "username" | "password"> | string {
  if (userinfo === null) return { username: null, password: null };
  if (userinfo.includes(MASK)) return "has masked credentials (***); send them as `username` and `password`";
  const at = userinfo.indexOf(":");
  try {
    const username = decodeURIComponent(at < 0 ? userinfo : userinfo.slice(0, at));
    return { username, password: at < 0 ? null : decodeURIComponent(userinfo.slice(at + 1)) };
  } catch {
    return "has a user or password with a % that does not begin an escape; write it as %25";
  }
}

const brokerUrl = (host: string): string | null => {
  const broker = readBroker(host);
  return typeof broker === "string" ? null : broker.url;
};

/** What the schemas cannot express. */
export function checkOutputs(given: readonly GivenOutput[]): readonly InputFault[] {
  return given.flatMap((output, index): readonly InputFault[] => {
    if (output.type === "webhook") {
      const authority = readAuthority(output.config.url);
      return typeof authority === "string"
        ? [{ path: pathTo(index, "url"), message: `is not valid: ${authority}` }]
        : [];
    }
    const { host, username, password } = output.config;
    const broker = readBroker(host);
    if (typeof broker === "string") return [{ path: pathTo(index, "host"), message: broker }];
    const path = pathTo(index, "username");
    if (broker.username !== null && (username !== undefined || password !== undefined))
      return [{ path, message: "is in `host` already; send it once" }];
    const isMissing = password !== undefined && username === undefined && broker.username === null;
    return isMissing ? [{ path, message: "is missing; a password requires it" }] : [];
  });
}

/**
 * Rejects with `address_refused` for an address that the network guard blocks, and with `invalid_input` for a host name
 * that cannot be resolved: a broker may be offline for a while, but such a name is almost always a typing error.
 */
export async function guardOutputs(given: readonly GivenOutput[], network: Config["network"]): Promise<void> {
  const guard = async (output: GivenOutput, index: number): Promise<ServiceError | InputFault | null> => {
    const isWebhook = output.type === "webhook";
    const url = isWebhook ? output.config.url : (brokerUrl(output.config.host) ?? output.config.host);
    const path = pathTo(index, isWebhook ? "url" : "host");
    try {
      if ((await guardAddress(url, network, path)).length > 0) return null;
      const authority = readAuthority(url);
      const host = typeof authority === "string" ? url : authority.host;
      return { path, message: `names the host ${host}, which cannot be resolved` };
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
  };
  const found = (await Promise.all(given.map(guard))).filter((each) => each !== null);
  const blocked = found.filter((each) => each instanceof ServiceError);
  const [first] = blocked;
  if (first === undefined) return rejectFaults(found as readonly InputFault[]);
  const errors = blocked.flatMap((error) => error.errors ?? []);
  throw new ServiceError(first.code, { detail: first.message, errors, cause: first });
}

/** Throws `invalid_input` when there are any. */
export function rejectFaults(faults: readonly InputFault[]): void {
  const [first] = faults;
  if (first === undefined) return;
  throw new ServiceError("invalid_input", { detail: `${first.path} ${first.message}.`, errors: faults });
}

/**
 * Outputs to store. A masked secret stands for the stored one: of the output at the same index, else of any that matches.
 * `before`: all outputs of the alert, the newest first. Each gets a destination of its own; `reuse` says whether it takes
 * over the destination of one before.
 */
export function storeOutputs(
  given: readonly GivenOutput[],
  before: readonly StoredOutput[],
  reuse: (output: StoredOutput, before: StoredOutput) => boolean,
): readonly StoredOutput[] {
  const faults: InputFault[] = [];
  const used = new Set<string>();
  const stored = given.flatMap((output, index): readonly StoredOutput[] => {
    const candidates = [before[index], ...before].filter((each) => each !== undefined);
    const restored =
      output.type === "mqtt"
        ? restoreMqtt(output.config, index, candidates)
        : restoreWebhook(output.config, index, candidates);
    if ("message" in restored) {
      faults.push(restored);
      return [];
    }
    const same = candidates.find((each) => !used.has(each.uuid) && reuse(restored, each));
    const uuid = same?.uuid ?? restored.uuid;
    used.add(uuid);
    return [{ ...restored, uuid }];
  });
  rejectFaults(faults);
  return stored;
}

function restoreMqtt(
  config: MqttOutputConfig,
  index: number,
  before: readonly StoredOutput[],
): StoredOutput | InputFault {
  const broker = readBroker(config.host);
  if (typeof broker === "string") return { path: pathTo(index, "host"), message: broker };
  const { topic, qos = 1, username = broker.username, password = broker.password } = config;
  const settings = { host: broker.host, topic, qos: qos as 0 | 1 | 2, username, password };
  if (password !== MASK) return { uuid: newUuid(), type: "mqtt", config: settings };
  // Never for another broker or user, which would receive it.
  const known = before.find(
    ({ type, config }) =>
      type === "mqtt" &&
      config.password !== null &&
      config.username === username &&
      brokerUrl(config.host) === broker.url,
  );
  if (known?.type !== "mqtt")
    return {
      path: pathTo(index, "password"),
      message: "is masked, and none is stored for this broker and user; send the password itself",
    };
  return { uuid: newUuid(), type: "mqtt", config: { ...settings, password: known.config.password } };
}

function restoreWebhook(
  { url, secret }: WebhookOutputConfig,
  index: number,
  before: readonly StoredOutput[],
): StoredOutput | InputFault {
  const hooks = before.filter((each) => each.type === "webhook");
  const same = hooks.find((each) => maskCredentials(each.config.url) === maskCredentials(url));
  const isMasked = url.includes(MASK) && maskCredentials(url) === url;
  if (isMasked && same === undefined)
    return { path: pathTo(index, "url"), message: "has masked credentials (***); send the real ones" };
  const realUrl = isMasked && same !== undefined ? same.config.url : url;
  const store = (chosen: string): StoredOutput => ({
    ...{ uuid: newUuid(), type: "webhook", config: { url: realUrl, secret: chosen } },
  });
  // The same receiver, sent again without its secret, keeps it.
  if (secret !== MASK && (secret !== undefined || same?.config.url !== realUrl))
    return store(secret ?? `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`);
  const known = same ?? hooks[0];
  if (known !== undefined) return store(known.config.secret);
  return { path: pathTo(index, "secret"), message: "is masked, and none is stored; omit it to get one" };
}

/** Equal except for the destination. */
export const isSameOutput = (a: StoredOutput, b: StoredOutput): boolean =>
  a.type === b.type && isDeepStrictEqual(a.config, b.config);

/** The same receiver, perhaps with other credentials: waiting deliveries are sent with the new ones. */
export function isSameReceiver(a: StoredOutput, b: StoredOutput): boolean {
  if (a.type === "mqtt" && b.type === "mqtt")
    return brokerUrl(a.config.host) === brokerUrl(b.config.host) && a.config.topic === b.config.topic;
  return a.type === "webhook" && b.type === "webhook" && a.config.url === b.config.url;
}

/** As clients see it. */
export function describeOutput(
  output: StoredOutput,
  showsSecret: boolean,
): { readonly type: StoredOutput["type"]; readonly config: JsonRecord } {
  if (output.type === "webhook") {
    const { url, secret } = output.config;
    return { type: output.type, config: { url: maskCredentials(url), secret: showsSecret ? secret : MASK } };
  }
  const { host, topic, qos, username, password } = output.config;
  const credentials = { ...(username !== null && { username }), ...(password !== null && { password: MASK }) };
  return { type: output.type, config: { host, topic, qos, ...credentials } };
}

export function destinationOf(output: StoredOutput, userUuid: string): Destination {
  const { uuid } = output;
  if (output.type === "webhook") {
    const { url, secret } = output.config;
    return { uuid, userUuid, target: { kind: "webhook", url, secret, authUrl: null } };
  }
  const { host, topic, qos, username, password } = output.config;
  return { uuid, userUuid, target: { kind: "mqtt", url: brokerUrl(host) ?? host, topic, qos, username, password } };
}
