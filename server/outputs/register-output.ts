/** Registration of outputs. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { NewOutput, OutputTarget } from "../../schemas/api/outputs.ts";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { lowerHost, readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { hubPath } from "../store/hub-paths.ts";
import { findIdenticalOutput, type OutputRow, registerOutput } from "../store/outputs.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { OUTPUT_TYPE } from "./output-types.ts";
import { guardTarget } from "./route-output.ts";

/** Limit of the hub, which includes the owner's name. */
const MAX_PATH_CHARACTERS = 255;

/** The body has been checked against the schema of its type. */
export async function registerNewOutput(
  { sql, config }: { readonly sql: Sql; readonly config: Config },
  user: User,
  body: NewOutput,
): Promise<{ readonly output: OutputRow; readonly isNew: boolean }> {
  const { alias, type } = body;
  const { target, checkUrl } = OUTPUT_TYPE[type];
  const { url, settings } = readTarget(body);
  if (target === "hub") expectPathOnly(url ?? "");
  if (target === "remote") expectReadable(url ?? "");
  const fault = checkUrl?.(url ?? "") ?? null;
  if (fault !== null) throw invalid(fault);
  const path = target === "hub" ? expectShort(hubPath(user.username, (url ?? "").slice("rtsp://".length))) : null;
  const identity = identifyOutput(type, url, settings);
  const identical = await findIdenticalOutput(sql, user.uuid, identity);
  if (identical !== null) return { output: identical, isNew: false };
  if (target === "remote") await guardTarget(url ?? "", config.network);
  const output = { uuid: newUuid(), alias, type, url, settings, identity, hubPath: path };
  return registerOutput(sql, user.uuid, output, user.limits.outputsRegistered);
}

/** Two outputs of a user with the same 32 bytes are the same. The alias does not count. */
const identifyOutput = (type: string, url: string | null, settings: string | null): Buffer =>
  createHash("sha256")
    .update(canonicalJson(["output", type, url === null || type === "rtsp" ? url : lowerHost(url), settings]))
    .digest();

/** A URL or resolution that the type does not have is ignored. */
function readTarget(body: NewOutput): Pick<OutputRow, "url" | "settings"> {
  const { target, hasVideo } = OUTPUT_TYPE[body.type];
  if (target === "messages") return { url: null, settings: null };
  const { url, settings = null } = body as OutputTarget;
  return { url, settings: hasVideo ? settings : null };
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
