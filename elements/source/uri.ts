import { fileURLToPath } from "node:url";
import { maskCredentials } from "../../schemas/mask.ts";
import { ExpandFault } from "../element.ts";
import { parseTestUri, type TestPicture } from "./test-picture.ts";

/** What a source URI means. `display` is for people: it holds no password. */
export type SourceDescription = FileSource | TestSource | LiveSource;

export interface FileSource {
  readonly kind: "file";
  readonly path: string;
  readonly display: string;
}

export interface TestSource extends TestPicture {
  readonly kind: "test";
  readonly display: string;
}

export interface LiveSource {
  readonly kind: "live";
  readonly protocol: "rtsp" | "rtmp";
  readonly url: string;
  readonly display: string;
}

const PROTOCOLS: Readonly<Record<string, LiveSource["protocol"]>> = {
  rtsp: "rtsp",
  rtsps: "rtsp",
  rtmp: "rtmp",
  rtmps: "rtmp",
};

/** Pure: says what is meant, not whether it is there. Throws `ExpandFault` for what cannot be a source. */
export function describeSource(uri: string): SourceDescription {
  if (uri.trim() === "") throw refuse(uri, "it is empty");
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  if (scheme === "test") return { kind: "test", ...parseTestUri(uri), display: uri };
  if (scheme === "file") return describeFile(pathOfUrl(uri));
  const protocol = PROTOCOLS[scheme ?? ""];
  if (protocol !== undefined) return describeLive(uri, protocol);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(uri)) throw refuse(uri, `"${scheme}:" is not among the kinds of source`);
  return describeFile(uri);
}

function describeFile(path: string): FileSource {
  if (path === "" || path.includes("\0")) throw refuse(path, "it names no file");
  return { kind: "file", path, display: path };
}

function pathOfUrl(uri: string): string {
  try {
    return /^file:\/\//i.test(uri) ? fileURLToPath(uri) : decodeURIComponent(uri.slice("file:".length));
  } catch (error) {
    throw refuse(uri, `it names no file on this machine (${error instanceof Error ? error.message : error})`);
  }
}

function describeLive(uri: string, protocol: LiveSource["protocol"]): LiveSource {
  const url = uri.trim();
  if (!URL.canParse(url) || new URL(url).hostname === "") throw refuse(uri, "its host or port cannot be read");
  if (protocol === "rtmp" && new URL(url).pathname.split("/").filter((part) => part !== "").length < 2)
    throw refuse(uri, "an RTMP address ends in application and stream, as in rtmp://host/live/camera");
  return { kind: "live", protocol, url, display: maskCredentials(url) };
}

const refuse = (uri: string, reason: string): ExpandFault =>
  new ExpandFault(
    "uri",
    `"${maskCredentials(uri)}" is no source: ${reason}; expected a file, "test:PATTERN", or an rtsp, rtsps, rtmp or rtmps URL`,
  );
