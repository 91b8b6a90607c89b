/**
 * Who is told of an alert: outputs as clients send them, as they are kept, as they are shown, and as the outbox sees them.
 * Their shapes have been checked before they get here.
 */
import { randomBytes } from "node:crypto";
import { MASK, type MqttOutputConfig, type WebhookOutputConfig } from "../../schemas/api/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Destination } from "../delivery/delivery.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { StoredOutput } from "../store/alerts.ts";
import { newUuid } from "../uuid.ts";
import { readBroker } from "./broker-address.ts";

export type GivenOutput =
  | { readonly type: "mqtt"; readonly config: MqttOutputConfig }
  | { readonly type: "webhook"; readonly config: WebhookOutputConfig };

const SECRET_BYTES = 24;

/** Of Standard Webhooks. */
export const makeSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;

const pathTo = (index: number, field: string): string => `/output/${index}/config/${field}`;

/** What the schemas cannot say. */
export function checkOutputs(given: readonly GivenOutput[]): readonly InputFault[] {
  return given.flatMap((output, index): readonly InputFault[] => {
    if (output.type === "webhook") {
      const authority = readAuthority(output.config.url);
      return typeof authority === "string"
        ? [{ path: pathTo(index, "url"), message: `cannot be read: ${authority}` }]
        : [];
    }
    const { host, username, password } = output.config;
    const broker = readBroker(host);
    if (typeof broker === "string") return [{ path: pathTo(index, "host"), message: broker }];
    const isTwice = broker.username !== null && (username !== undefined || password !== undefined);
    const isLame = password !== undefined && username === undefined && broker.username === null;
    return [
      ...(isTwice ? [{ path: pathTo(index, "username"), message: "is in `host` already; send it once" }] : []),
      ...(isLame ? [{ path: pathTo(index, "username"), message: "is missing; a password needs one" }] : []),
    ];
  });
}

/**
 * Rejects with `address_refused` for one that may not be connected to, and with `invalid_input` for a name that nobody
 * knows: a broker may be away for a while, but such a name is almost always a slip of the pen.
 */
export async function guardOutputs(given: readonly GivenOutput[], network: Config["network"]): Promise<void> {
  const found = await Promise.all(
    given.map(async (output, index) => {
      const { url, path } = addressOf(output, index);
      try {
        const addresses = await guardAddress(url, network, path);
        const authority = readAuthority(url);
        const name = typeof authority === "string" ? url : authority.host;
        return addresses.length > 0 ? null : { path, message: `names ${name}, and no host of that name can be found` };
      } catch (error) {
        if (error instanceof ServiceError) return error;
        throw error;
      }
    }),
  );
  const refused = found.filter((each) => each instanceof ServiceError);
  const [first] = refused;
  if (first !== undefined)
    throw new ServiceError(first.code, {
      detail: first.message,
      errors: refused.flatMap(({ errors }) => errors ?? []),
      cause: first,
    });
  const unknown = found.filter((each): each is InputFault => each !== null && !(each instanceof ServiceError));
  if (unknown[0] !== undefined)
    throw new ServiceError("invalid_input", { detail: `${unknown[0].path} ${unknown[0].message}.`, errors: unknown });
}

function addressOf(output: GivenOutput, index: number): { readonly url: string; readonly path: string } {
  if (output.type === "webhook") return { url: output.config.url, path: pathTo(index, "url") };
  const broker = readBroker(output.config.host);
  return { url: typeof broker === "string" ? output.config.host : broker.url, path: pathTo(index, "host") };
}

/**
 * As they are kept. A masked secret is the one before: of the same place in the list, else of any that fits. `before` are
 * all that this alert has, the newest first. Each gets a destination of its own; `reuse` says which of those before it may
 * take over.
 */
export function keepOutputs(
  given: readonly GivenOutput[],
  before: readonly StoredOutput[],
  reuse: (kept: StoredOutput, before: StoredOutput) => boolean,
): readonly StoredOutput[] {
  const faults: InputFault[] = [];
  const taken = new Set<string>();
  const kept = given.flatMap((output, index): readonly StoredOutput[] => {
    const candidates = [before[index], ...before].filter((each) => each !== undefined);
    const restored = restoreOutput(output, index, candidates);
    if ("message" in restored) {
      faults.push(restored);
      return [];
    }
    const same = candidates.find((each) => !taken.has(each.uuid) && reuse(restored, each));
    const uuid = same?.uuid ?? restored.uuid;
    taken.add(uuid);
    return [{ ...restored, uuid }];
  });
  const [first] = faults;
  if (first === undefined) return kept;
  throw new ServiceError("invalid_input", { detail: `${first.path} ${first.message}.`, errors: faults });
}

function restoreOutput(output: GivenOutput, index: number, before: readonly StoredOutput[]): StoredOutput | InputFault {
  return output.type === "mqtt"
    ? restoreMqtt(output.config, index, before)
    : restoreWebhook(output.config, index, before);
}

function restoreMqtt(
  config: MqttOutputConfig,
  index: number,
  before: readonly StoredOutput[],
): StoredOutput | InputFault {
  const broker = readBroker(config.host);
  if (typeof broker === "string") return { path: pathTo(index, "host"), message: broker };
  const { topic, qos = 1, username = broker.username, password = broker.password } = config;
  const kept: StoredOutput = {
    uuid: newUuid(),
    type: "mqtt",
    config: { host: broker.host, topic, qos: qos as 0 | 1 | 2, username, password },
  };
  if (password !== MASK) return kept;
  // Never for another broker: that one would be told it.
  const known = before.find(
    (each) => each.type === "mqtt" && each.config.password !== null && brokerUrl(each.config.host) === broker.url,
  );
  if (known?.type === "mqtt") return { ...kept, config: { ...kept.config, password: known.config.password } };
  return { path: pathTo(index, "password"), message: `is masked, and there is none to keep; send the password itself` };
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
    return { path: pathTo(index, "url"), message: `has masked credentials (***); send the real ones` };
  const config = { url: isMasked && same !== undefined ? same.config.url : url, secret: secret ?? makeSecret() };
  const kept: StoredOutput = { uuid: newUuid(), type: "webhook", config };
  // One that is sent again without its secret is still the same receiver.
  if (secret !== MASK && (secret !== undefined || same?.config.url !== config.url)) return kept;
  const known = same ?? hooks[0];
  if (known !== undefined) return { ...kept, config: { ...config, secret: known.config.secret } };
  return { path: pathTo(index, "secret"), message: `is masked, and there is none to keep; leave it out to get one` };
}

const brokerUrl = (host: string): string | null => {
  const broker = readBroker(host);
  return typeof broker === "string" ? null : broker.url;
};

/** All the same but for which destination it is. */
export const isSameOutput = (a: StoredOutput, b: StoredOutput): boolean =>
  a.type === b.type && JSON.stringify(sortConfig(a)) === JSON.stringify(sortConfig(b));

/** JSON that came back from the database has its keys in another order. */
const sortConfig = ({ config }: StoredOutput) => Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1));

/** The same receiver, perhaps by other credentials: what waits for it goes there with the new ones. */
export function isSameReceiver(a: StoredOutput, b: StoredOutput): boolean {
  if (a.type === "mqtt" && b.type === "mqtt")
    return brokerUrl(a.config.host) === brokerUrl(b.config.host) && a.config.topic === b.config.topic;
  return a.type === "webhook" && b.type === "webhook" && a.config.url === b.config.url;
}

/** As clients see it. `shows` tells which secrets are news to them. */
export function showOutput(
  output: StoredOutput,
  shows: (output: StoredOutput) => boolean,
): { readonly type: StoredOutput["type"]; readonly config: JsonRecord } {
  if (output.type === "webhook") {
    const { url, secret } = output.config;
    return { type: output.type, config: { url: maskCredentials(url), secret: shows(output) ? secret : MASK } };
  }
  const { host, topic, qos, username, password } = output.config;
  return {
    type: output.type,
    config: {
      ...{ host, topic, qos },
      ...(username !== null && { username }),
      ...(password !== null && { password: MASK }),
    },
  };
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
