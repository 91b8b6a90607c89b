import { didYouMean } from "../../schemas/suggest.ts";
import { ExpandFault } from "../element.ts";

/** A generated picture: `test:ball?width=1280&height=720&fps=30&seconds=10`. */
export interface TestPicture {
  readonly pattern: string;
  readonly width: number;
  readonly height: number;
  /** Frames per second as GStreamer writes it: `25/1`. */
  readonly framerate: string;
  /** Frames until the end; null goes on for ever. */
  readonly frames: number | null;
}

const SETTINGS = ["width", "height", "fps", "frames", "seconds"];
const MOST_FRAMES = 2 ** 31 - 1;

export function parseTestUri(uri: string): TestPicture {
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
  const frames = readNumber(settings, "frames", 1, MOST_FRAMES);
  if (!settings.has("seconds")) return frames;
  if (frames !== null) throw new ExpandFault("uri", "a test picture takes frames or seconds, not both: leave one out");
  const seconds = Number(settings.get("seconds"));
  const count = Math.round(seconds * fps);
  if (!(count >= 1 && count <= MOST_FRAMES)) throw refuseValue(settings, "seconds", "a number above 0");
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
    `a test picture has no setting "${name}"; it has ${SETTINGS.join(", ")}${didYouMean(name, SETTINGS)}`,
  );
}
