import { isIP } from "node:net";
import type { NewOutput, OutputTarget } from "../../schemas/api/outputs.ts";
import type { Config } from "../../schemas/config.ts";
import { readCotTarget } from "../../schemas/cot-target.ts";
import { hubPath } from "../media/media-hub.ts";
import { readAuthority } from "../net/url.ts";
import { ServiceError } from "../service-error.ts";
import { identifyOutput } from "../sources/identity.ts";
import type { Sql } from "../store/client.ts";
import { findIdenticalOutput, type OutputRow, registerOutput } from "../store/outputs.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { guardTarget } from "./guard-target.ts";

interface Needs {
  readonly sql: Sql;
  readonly config: Config;
}

/** Of a path of the hub. */
const MOST_PATH_CHARACTERS = 255;

/** The body has the shape of its type already. */
export async function registerNewOutput(
  { sql, config }: Needs,
  user: User,
  body: NewOutput,
): Promise<{ readonly output: OutputRow; readonly isNew: boolean }> {
  const { alias, type } = body;
  const { url, settings } = readTarget(body);
  if (type === "rtsp") expectPathAlone(url ?? "");
  if (type === "rtmp" || type === "cot") expectReadable(url ?? "");
  if (type === "cot") expectTarget(url ?? "");
  const path = type === "rtsp" ? expectShort(hubPath(user.username, (url ?? "").slice("rtsp://".length))) : null;
  const identity = identifyOutput(type, url, settings);
  const identical = await findIdenticalOutput(sql, user.uuid, identity);
  if (identical !== null) return { output: identical, isNew: false };
  if (type === "rtmp" || type === "cot") await guardTarget(url ?? "", config.network);
  const output = { uuid: newUuid(), alias, type, url, settings, identity, hubPath: path };
  return registerOutput(sql, user.uuid, output, user.limits.outputsRegistered);
}

/** Data has none: whatever stands there changes nothing. */
function readTarget(body: NewOutput): Pick<OutputRow, "url" | "settings"> {
  if (body.type === "detection_data" || body.type === "drone_data") return { url: null, settings: null };
  const { url, settings = null } = body as OutputTarget;
  return { url, settings: body.type === "cot" ? null : settings };
}

/** It is we who serve it: an address in front would be taken for a part of the path. */
function expectPathAlone(url: string): void {
  const [first = ""] = url.slice("rtsp://".length).split("/");
  if (isIP(first) === 0 && first.toLowerCase() !== "localhost") return;
  throw invalid(`names the host ${first}; expected rtsp:// and the path alone, as this service serves it itself`);
}

/** The hub takes no longer ones, and the owner's name is a part of them. */
function expectShort(path: string): string {
  if (path.length <= MOST_PATH_CHARACTERS) return path;
  const most = MOST_PATH_CHARACTERS - path.indexOf("/") - 1;
  throw invalid(`names a path of ${path.length - path.indexOf("/") - 1} characters; expected at most ${most}`);
}

function expectReadable(url: string): void {
  const authority = readAuthority(url);
  if (typeof authority === "string") throw invalid(`cannot be read: ${authority}`);
  if (authority.userinfo?.includes("***")) throw invalid("has masked credentials (***); send the real ones");
}

function expectTarget(url: string): void {
  const target = readCotTarget(url);
  if (typeof target === "string") throw invalid(target);
}

const invalid = (message: string): ServiceError =>
  new ServiceError("invalid_input", { detail: `/url ${message}.`, errors: [{ path: "/url", message }] });
