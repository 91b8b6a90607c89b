/** Parses source URIs: files, test patterns, RTSP, RTMP, SRT and UDP. */
import { fileURLToPath } from "node:url";
import { maskCredentials } from "../../schemas/mask.ts";
import { readSrtAddress, readUdpAddress } from "../../schemas/srt-address.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { ExpandFault } from "../element.ts";

/** A parsed source URI. `display` contains no password. */
export type SourceDescription = FileSource | TestSource | LiveSource;

export interface FileSource {
  readonly kind: "file";
  readonly path: string;
  readonly display: string;
}

export interface TestSource extends TestPattern {
  readonly kind: "test";
  readonly display: string;
}

export interface LiveSource {
  readonly kind: "live";
  /** `file`: one that is looped. */
  readonly protocol: "rtsp" | "rtmp" | "srt" | "udp" | "file";
  /** Of a file: its path. */
  readonly url: string;
  readonly display: string;
  /** Of a file whose container is known. */
  readonly demuxer?: string;
}

const PROTOCOLS: Readonly<Record<string, LiveSource["protocol"]>> = {
  rtsp: "rtsp",
  rtsps: "rtsp",
  rtmp: "rtmp",
  rtmps: "rtmp",
  srt: "srt",
  udp: "udp",
};

/** Pure: does not check that the source exists. Throws `ExpandFault` for an invalid source. */
export function describeSource(uri: string): SourceDescription {
  if (uri.trim() === "") throw refuse(uri, "it is empty");
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  if (scheme === "test") return { kind: "test", ...parseTestUri(uri), display: uri };
  if (scheme === "file") return describeFile(pathOfUrl(uri));
  const protocol = PROTOCOLS[scheme ?? ""];
  if (protocol !== undefined) return describeLive(uri, protocol);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(uri)) throw refuse(uri, `"${scheme}:" is not a supported scheme`);
  return describeFile(uri);
}

function describeFile(path: string): FileSource {
  if (path === "" || path.includes("\0")) throw refuse(path, "the file name is empty or invalid");
  return { kind: "file", path, display: path };
}

function pathOfUrl(uri: string): string {
  try {
    return /^file:\/\//i.test(uri) ? fileURLToPath(uri) : decodeURIComponent(uri.slice("file:".length));
  } catch (error) {
    throw refuse(uri, `not a file on this machine (${error instanceof Error ? error.message : error})`);
  }
}

function describeLive(uri: string, protocol: LiveSource["protocol"]): LiveSource {
  const url = uri.trim();
  if (!URL.canParse(url) || new URL(url).hostname === "") throw refuse(uri, "invalid host or port");
  if (protocol === "rtmp" && new URL(url).pathname.split("/").filter((part) => part !== "").length < 2)
    throw refuse(uri, "an RTMP URL ends with application and stream, as in rtmp://host/live/camera");
  const datagrams = protocol === "srt" ? readSrtAddress(url) : protocol === "udp" ? readUdpAddress(url) : null;
  if (typeof datagrams === "string") throw refuse(uri, datagrams);
  return { kind: "live", protocol, url, display: maskCredentials(url) };
}

const refuse = (uri: string, reason: string): ExpandFault =>
  new ExpandFault(
    "uri",
    `"${maskCredentials(uri)}" is not a source: ${reason}; expected a file, "test:PATTERN", or an rtsp, rtsps, rtmp, rtmps, srt or udp URL`,
  );

/** A generated test pattern: `test:ball?width=1280&height=720&fps=30&seconds=10`. */
interface TestPattern {
  readonly pattern: string;
  readonly width: number;
  readonly height: number;
  /** Frames per second as GStreamer writes it: `25/1`. */
  readonly framerate: string;
  /** Number of frames; null: endless. */
  readonly frames: number | null;
}

const SETTINGS = ["width", "height", "fps", "frames", "seconds"];
const MAX_FRAMES = 2 ** 31 - 1;

function parseTestUri(uri: string): TestPattern {
  const [pattern = "", query = ""] = uri.slice(uri.indexOf(":") + 1).split(/\?(.*)/s);
  const settings = new URLSearchParams(query);
  for (const name of settings.keys()) if (!SETTINGS.includes(name)) throw refuseSetting(name);
  const [numerator, denominator] = readRate(settings.get("fps") ?? "25");
  return {
    pattern: pattern === "" ? "smpte" : pattern,
    width: readNumber(settings, "width", 16, 8192) ?? 640,
    height: readNumber(settings, "height", 16, 8192) ?? 360,
    framerate: `${numerator}/${denominator}`,
    frames: readLength(settings, numerator / denominator),
  };
}

function readLength(settings: URLSearchParams, fps: number): number | null {
  const frames = readNumber(settings, "frames", 1, MAX_FRAMES);
  if (!settings.has("seconds")) return frames;
  if (frames !== null) throw new ExpandFault("uri", "a test pattern takes frames or seconds, not both: remove one");
  const seconds = Number(settings.get("seconds"));
  const count = Math.round(seconds * fps);
  if (!(count >= 1 && count <= MAX_FRAMES)) throw refuseValue(settings, "seconds", "a number above 0");
  return count;
}

function readNumber(settings: URLSearchParams, name: string, minimum: number, maximum: number): number | null {
  const text = settings.get(name);
  if (text === null) return null;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= minimum && value <= maximum))
    throw refuseValue(settings, name, `a whole number from ${minimum} to ${maximum}`);
  return value;
}

/** `30`, `29.97` or `30000/1001`. */
function readRate(text: string): readonly [number, number] {
  const fraction = /^(\d{1,6})\/(\d{1,6})$/.exec(text);
  const rate: readonly [number, number] = fraction
    ? [Number(fraction[1]), Number(fraction[2])]
    : Number.isInteger(Number(text))
      ? [Number(text), 1]
      : [Math.round(Number(text) * 1000), 1000];
  const fps = rate[0] / rate[1];
  if (text.trim() === "" || !(fps > 0 && fps <= 1000))
    throw new ExpandFault(
      "uri",
      `fps is "${text}"; expected a number above 0 and up to 1000, or a fraction like 30000/1001`,
    );
  return rate;
}

const refuseValue = (settings: URLSearchParams, name: string, expected: string): ExpandFault =>
  new ExpandFault("uri", `${name} is "${settings.get(name)}"; expected ${expected}`);

function refuseSetting(name: string): ExpandFault {
  return new ExpandFault(
    "uri",
    `a test pattern has no setting "${name}"; expected ${SETTINGS.join(", ")}${didYouMean(name, SETTINGS)}`,
  );
}
