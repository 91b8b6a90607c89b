/** Registration of outputs. */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { NewOutput, type OutputChange, type OutputTarget, type TakSettings } from "../../schemas/api/outputs.ts";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { lowerHost, readAuthority } from "../net/url.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { hubPath } from "../store/hub-paths.ts";
import {
  findIdenticalOutput,
  findOutput,
  type NewOutputRow,
  type OutputRow,
  registerOutput,
  updateOutput,
} from "../store/outputs.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { hasBoxes, OUTPUT_TYPE } from "./output-types.ts";
import { guardTarget } from "./route-output.ts";

/** Limit of the hub, which includes the owner's name. */
const MAX_PATH_CHARACTERS = 255;

/** The body has been checked against the schema of its type. */
export async function registerNewOutput(
  { sql, config }: { readonly sql: Sql; readonly config: Config },
  user: User,
  body: NewOutput,
): Promise<{ readonly output: OutputRow; readonly isNew: boolean }> {
  const output = { uuid: newUuid(), ...prepareOutput(user, body) };
  const identical = await findIdenticalOutput(sql, user.uuid, output.identity);
  if (identical !== null) return { output: identical, isNew: false };
  if (isRemote(output)) await guardTarget(output.url ?? "", config.network);
  return registerOutput(sql, user.uuid, output, user.limits.outputsRegistered);
}

const isRemote = ({ type }: Pick<OutputRow, "type">): boolean => OUTPUT_TYPE[type].target === "remote";

const checkBody = checkBy(NewOutput);

/**
 * Rejects with `output_in_use` while it is attached, unless only the alias changes, and with `output_exists` if it would
 * become identical to another.
 */
export async function changeOutput(
  { sql, config }: { readonly sql: Sql; readonly config: Config },
  user: User,
  uuid: string,
  change: OutputChange,
): Promise<OutputRow> {
  const before = await findOutput(sql, user.uuid, uuid);
  const { type, url, settings, codec, boxes, bitrate, audio, tak } = before;
  // A record that is sent back has its credentials masked.
  const isSame = change.url == null || (url !== null && change.url === maskCredentials(url));
  const body = {
    ...{ type, alias: change.alias ?? before.alias, codec: change.codec ?? codec },
    ...{ settings: change.settings === undefined ? settings : change.settings },
    ...{ boxes: change.boxes ?? boxes, bitrate: change.bitrate === undefined ? bitrate : change.bitrate },
    audio: change.audio ?? audio,
    ...((isSame ? url : change.url) !== null && { url: isSame ? url : change.url }),
    ...(tak !== null && { tak }),
  };
  const faults = checkBody(body);
  if (faults.length > 0) throw invalidInput(faults);
  const output = prepareOutput(user, body as NewOutput);
  if (!isSame && isRemote(output)) await guardTarget(output.url ?? "", config.network);
  return updateOutput(sql, user.uuid, uuid, output);
}

/** Throws `invalid_input`. */
function prepareOutput(user: User, body: NewOutput): Omit<NewOutputRow, "uuid"> {
  const { alias, type } = body;
  const { target, checkUrl } = OUTPUT_TYPE[type];
  const read = readTarget(body);
  const { url, tak } = read;
  if (target === "hub") expectPathOnly(url ?? "");
  if (target === "remote") expectReadable(url ?? "");
  const fault = checkUrl?.(url ?? "") ?? null;
  if (fault !== null) throw invalid(fault);
  if (tak !== null) expectTak(tak);
  const path = target === "hub" ? expectShort(hubPath(user.username, (url ?? "").slice("rtsp://".length))) : null;
  return { alias, type, ...read, identity: identifyOutput(read, type), hubPath: path };
}

/** Two outputs of a user with the same 32 bytes are the same. The alias does not count. */
function identifyOutput(output: ReadTarget, type: OutputRow["type"]): Buffer {
  const { url, settings, codec, boxes, bitrate, audio, tak } = output;
  const parts = ["output", type, url === null || type === "rtsp" ? url : lowerHost(url), settings];
  // Those registered before there was a choice have none.
  const chosen = {
    ...(boxes !== hasBoxes(type) && { boxes }),
    ...(bitrate !== null && { bitrate }),
    ...(audio && { audio }),
  };
  const more = [
    ...(codec === "h264" ? [] : [codec]),
    ...(tak === null ? [] : [tak]),
    ...(Object.keys(chosen).length === 0 ? [] : [chosen]),
  ];
  return createHash("sha256")
    .update(canonicalJson([...parts, ...more]))
    .digest();
}

type ReadTarget = Pick<OutputRow, "url" | "settings" | "codec" | "boxes" | "bitrate" | "audio" | "tak">;

/** What the type does not have is ignored. */
function readTarget(body: NewOutput): ReadTarget {
  const { target, hasVideo } = OUTPUT_TYPE[body.type];
  const { url, settings = null, codec = "h264", tak = null } = body as OutputTarget;
  const { boxes = hasBoxes(body.type), bitrate = null, audio = false } = body as OutputTarget;
  const none = { settings: null, codec: "h264", boxes: hasBoxes(body.type), bitrate: null, audio: false } as const;
  return {
    url: target === "messages" ? null : url,
    ...(hasVideo ? { settings, codec, boxes, bitrate, audio } : none),
    tak: body.type === "cot" ? tak : null,
  };
}

/** The certificates can be read, and the key belongs to the certificate. */
function expectTak({ authorities, certificate, key }: TakSettings): void {
  const fail = (field: string, message: string): never => {
    const path = `/tak/${field}`;
    throw new ServiceError("invalid_input", { detail: `${path} ${message}.`, errors: [{ path, message }] });
  };
  const read = (field: "authorities" | "certificate", text: string): X509Certificate => {
    try {
      return new X509Certificate(text);
    } catch {
      return fail(field, "is not a certificate; expected PEM, which begins with -----BEGIN CERTIFICATE-----");
    }
  };
  if (authorities !== undefined) read("authorities", authorities);
  if (certificate === undefined && key === undefined) return;
  const found = read("certificate", certificate ?? fail("certificate", "is missing: a key is given"));
  const pair = readKey(key ?? fail("key", "is missing: a certificate is given"));
  if (pair === null)
    fail(
      "key",
      "is not a private key; expected PEM that is not encrypted: openssl pkcs12 -in client.p12 -nodes -nocerts",
    );
  else if (!found.checkPrivateKey(pair)) fail("key", "is not the private key of the certificate");
}

function readKey(text: string): KeyObject | null {
  try {
    return createPrivateKey(text);
  } catch {
    return null;
  }
}

/** The hub of this server serves it: a host in the URL would be read as a part of the path. */
function expectPathOnly(url: string): void {
  const [first = ""] = url.slice("rtsp://".length).split("/");
  if (isIP(first) === 0 && first.toLowerCase() !== "localhost") return;
  throw invalid(
    `names the host ${first}; expected rtsp:// and a path only, because this service serves the stream itself`,
  );
}

function expectShort(path: string): string {
  if (path.length <= MAX_PATH_CHARACTERS) return path;
  const max = MAX_PATH_CHARACTERS - path.indexOf("/") - 1;
  throw invalid(`has a path of ${path.length - path.indexOf("/") - 1} characters; expected at most ${max}`);
}

function expectReadable(url: string): void {
  const authority = readAuthority(url);
  if (typeof authority === "string") throw invalid(`cannot be read: ${authority}`);
  if (authority.userinfo?.includes("***")) throw invalid("has masked credentials (***); send the real ones");
}

const invalid = (message: string): ServiceError =>
  new ServiceError("invalid_input", { detail: `/url ${message}.`, errors: [{ path: "/url", message }] });
