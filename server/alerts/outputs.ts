/**
 * The outputs of an alert: as clients send them, as they are stored, as they are shown, and as destinations of deliveries.
 * Their schemas have been checked before.
 */
import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import { isDeepStrictEqual } from "node:util";
import {
  type EmailOutputConfig,
  MASK,
  type MqttOutputConfig,
  type WebhookOutputConfig,
  type WebhookTemplate,
} from "../../schemas/api/alerts.ts";
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
import { checkHeaders, maskHeaders, restoreHeaders } from "./headers.ts";
import { formatOf } from "./outgoing.ts";
import { parseTemplate } from "./template.ts";

export type GivenOutput =
  | { readonly type: "mqtt"; readonly config: MqttOutputConfig }
  | { readonly type: "webhook"; readonly config: WebhookOutputConfig }
  | { readonly type: "email"; readonly config: EmailOutputConfig };

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
    if (output.type === "email") return checkEmail(output.config, index);
    if (output.type === "webhook") {
      const authority = readAuthority(output.config.url);
      const faults = checkWebhookTemplate(output.config.template, index);
      return typeof authority === "string"
        ? [{ path: pathTo(index, "url"), message: `is not valid: ${authority}` }, ...faults]
        : faults;
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

function checkWebhookTemplate(template: WebhookTemplate | undefined, index: number): readonly InputFault[] {
  if (template === undefined) return [];
  const parsed = parseTemplate(template.body, formatOf(template));
  const faults = checkHeaders(template.headers ?? {}).map(({ name, message }) => ({
    ...{ path: pathTo(index, `template/headers/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`), message },
  }));
  return typeof parsed === "string" ? [{ path: pathTo(index, "template/body"), message: parsed }, ...faults] : faults;
}

function checkEmail({ to, subject, text }: EmailOutputConfig, index: number): readonly InputFault[] {
  const templates = Object.entries({ subject, text }).flatMap(([field, template]) => {
    const parsed = template === undefined ? null : parseTemplate(template, "text");
    return typeof parsed === "string" ? [{ path: pathTo(index, field), message: parsed }] : [];
  });
  const known = to.map((address) => address.toLowerCase());
  const twice = known.findIndex((address, at) => known.indexOf(address) < at);
  return twice < 0 ? templates : [{ path: pathTo(index, `to/${twice}`), message: "is there twice" }, ...templates];
}

/**
 * Rejects with `address_refused` for an address that the network guard blocks, and with `invalid_input` for a host name
 * that cannot be resolved: a broker may be offline for a while, but such a name is almost always a typing error. Mails are
 * sent by the operator's server, to domains that the operator allows.
 */
export async function guardOutputs(
  given: readonly GivenOutput[],
  { network, smtp }: Pick<Config, "network" | "smtp">,
): Promise<void> {
  const guard = async (output: GivenOutput, index: number): Promise<ServiceError | InputFault | null> => {
    if (output.type === "email") return guardEmail(output.config, smtp, index);
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

function guardEmail({ to }: EmailOutputConfig, { url, domains }: Config["smtp"], index: number): InputFault | null {
  const path = `/output/${index}/type`;
  if (url === null) return { path, message: "cannot be email: this service has no mail server (setting smtp.url)" };
  const allowed = domains.map((domain) => domain.toLowerCase());
  const other = to.findIndex((address) => !allowed.includes((address.split("@")[1] ?? "").toLowerCase()));
  if (allowed.length === 0 || other < 0) return null;
  const message = `is not in a domain that this service sends mails to (${allowed.join(", ")})`;
  return { path: pathTo(index, `to/${other}`), message };
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
    const restored = restore(output, index, candidates);
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

function restore(output: GivenOutput, index: number, before: readonly StoredOutput[]): StoredOutput | InputFault {
  if (output.type === "mqtt") return restoreMqtt(output.config, index, before);
  if (output.type === "webhook") return restoreWebhook(output.config, index, before);
  const { to, subject = null, text = null } = output.config;
  return { uuid: newUuid(), type: "email", config: { to, subject, text } };
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
  { url, secret, template }: WebhookOutputConfig,
  index: number,
  before: readonly StoredOutput[],
): StoredOutput | InputFault {
  const hooks = before.filter((each) => each.type === "webhook");
  const same = hooks.find((each) => maskCredentials(each.config.url) === maskCredentials(url));
  const isMasked = url.includes(MASK) && maskCredentials(url) === url;
  if (isMasked && same === undefined)
    return { path: pathTo(index, "url"), message: "has masked credentials (***); send the real ones" };
  const realUrl = isMasked && same !== undefined ? same.config.url : url;
  // Never for another URL, whose server would receive them.
  const known = same?.config.url === realUrl ? (same.config.template?.headers ?? {}) : {};
  const restored = restoreHeaders(template?.headers ?? {}, known);
  if ("missing" in restored)
    return {
      path: pathTo(index, `template/headers/${restored.missing}`),
      message: "is masked, and none is stored for this URL; send the value itself",
    };
  const stored = template && { template: { ...template, headers: restored.headers } };
  const store = (chosen: string): StoredOutput => ({
    ...{ uuid: newUuid(), type: "webhook", config: { url: realUrl, secret: chosen, ...stored } },
  });
  // The same receiver, sent again without its secret, keeps it.
  if (secret !== MASK && (secret !== undefined || same?.config.url !== realUrl))
    return store(secret ?? `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`);
  const signed = same ?? hooks[0];
  if (signed !== undefined) return store(signed.config.secret);
  return { path: pathTo(index, "secret"), message: "is masked, and none is stored; omit it to get one" };
}

/** Equal except for the destination. */
export const isSameOutput = (a: StoredOutput, b: StoredOutput): boolean =>
  a.type === b.type && isDeepStrictEqual(a.config, b.config);

/** The same receiver, perhaps with other credentials: waiting deliveries are sent with the new ones. */
export function isSameReceiver(a: StoredOutput, b: StoredOutput): boolean {
  if (a.type === "mqtt" && b.type === "mqtt")
    return brokerUrl(a.config.host) === brokerUrl(b.config.host) && a.config.topic === b.config.topic;
  if (a.type === "email" && b.type === "email") return isDeepStrictEqual(a.config.to, b.config.to);
  return a.type === "webhook" && b.type === "webhook" && a.config.url === b.config.url;
}

/** As clients see it. */
export function describeOutput(
  output: StoredOutput,
  showsSecret: boolean,
): { readonly type: StoredOutput["type"]; readonly config: JsonRecord } {
  if (output.type === "email") {
    const { to, subject, text } = output.config;
    return { type: output.type, config: { to, ...(subject !== null && { subject }), ...(text !== null && { text }) } };
  }
  if (output.type === "webhook") {
    const { url, secret, template } = output.config;
    const shown = template && { template: { ...template, headers: maskHeaders(template.headers ?? {}) } };
    const config = { url: maskCredentials(url), secret: showsSecret ? secret : MASK, ...shown };
    return { type: output.type, config };
  }
  const { host, topic, qos, username, password } = output.config;
  const credentials = { ...(username !== null && { username }), ...(password !== null && { password: MASK }) };
  return { type: output.type, config: { host, topic, qos, ...credentials } };
}

export function destinationOf(
  output: StoredOutput,
  userUuid: string,
  smtp: Pick<Config["smtp"], "interval_seconds">,
): Destination {
  const { uuid } = output;
  if (output.type === "email")
    return { uuid, userUuid, target: { kind: "email", to: output.config.to, spacingMs: smtp.interval_seconds * 1000 } };
  if (output.type === "webhook") {
    const { url, secret, template } = output.config;
    const form = template && {
      contentType: template.content_type === "text/plain" ? "text/plain; charset=utf-8" : "application/json",
      headers: template.headers ?? {},
    };
    return { uuid, userUuid, target: { kind: "webhook", url, secret, authUrl: null, ...form } };
  }
  const { host, topic, qos, username, password } = output.config;
  return { uuid, userUuid, target: { kind: "mqtt", url: brokerUrl(host) ?? host, topic, qos, username, password } };
}
