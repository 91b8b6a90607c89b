/** The options that `run` and `launch` share. */
import { readPictureType } from "../../elements/snapshot/picture-file.ts";
import { type Given, type Options, UsageFault } from "../command.ts";
import { readSlotWords } from "../compile-graph.ts";
import { readTracksFile, type TracksOrder } from "./output-files.ts";
import { readTelemetryOrder, type TelemetryOrder } from "./telemetry-file.ts";

export const RUN_OPTIONS = {
  stats: {
    type: "boolean",
    about: "Show frames per second, milliseconds, queue fill and drops of every step.",
  },
  probe: {
    type: "string",
    multiple: true,
    value: "NODE",
    about: 'Print every buffer that leaves NODE, with its metadata, as a line of JSON with the key "probe".',
  },
  snapshot: {
    type: "string",
    multiple: true,
    value: "NODE@TIME=FILE",
    about: "Keep the frame that NODE gives at TIME (12.5s, 800ms or 1:02.5) as .png or .jpg.",
  },
  frames: { type: "string", value: "N", about: "End after exactly N frames of each source." },
  seconds: { type: "string", value: "N", about: "End after N seconds of the stream." },
  pace: {
    type: "string",
    value: "PACE",
    about: "realtime: as the source would be shown; fast: as fast as it goes (the default for files and patterns).",
  },
  attach: {
    type: "string",
    multiple: true,
    value: "SLOT[:name=value,…]",
    about: "Attach a slot of the graph from the first frame on.",
  },
  video: {
    type: "string",
    value: "FILE",
    about: "Write the video with what was found drawn on it: attaches the graph's slot `video`, as video:path=FILE.",
  },
  tracks: {
    type: "string",
    value: "FILE",
    about: "Write every track with its path, by the element `report`: .geojson, .kml or .csv.",
  },
  telemetry: {
    type: "string",
    value: "FILE",
    about: "What the drone told during the flight, one message a line. The first counts as told with the first frame.",
  },
  "telemetry-format": {
    type: "string",
    value: "NAME[:name=value,…]",
    about:
      "Of its messages: native (the default) or vendor_a, with settings such as vendor_a:sensor_hfov=71,sensor_vfov=44.",
  },
  log: { type: "string", value: "LEVELS", about: "Show GStreamer's log, as in GST_DEBUG: 3, or rtspsrc:5,*:2." },
  svg: { type: "string", value: "FILE", about: "Draw the graph." },
  dot: { type: "string", value: "FILE", about: "Write the pipeline as it runs, in Graphviz's language." },
  json: { type: "boolean", about: "Only JSON: notes and a summary at the end as lines on standard error." },
  quiet: { type: "boolean", short: "q", about: "Say nothing but errors." },
} as const satisfies Options;

export const RUN_NOTES = [
  "Lines of the graph (print) and of --probe go to standard output, everything else to standard error. A probe never slows the graph down: what it cannot take is counted as `lost`.",
  "Ctrl-C ends the stream, lets what is under way arrive and finalises files; a second one cuts it off.",
  "At pace fast nothing reads the clock: a stream begins at the first moment of 1970, and the same clip gives the same lines.",
  "Exit codes: 0 ended, 1 failed, 2 bad graph or bad command line. After Ctrl-C npx itself may answer 130.",
].join("\n");

export interface SnapshotOrder {
  readonly node: string;
  readonly atNs: bigint;
  readonly file: string;
  readonly type: "image/png" | "image/jpeg";
}

export interface RunSettings {
  readonly stats: boolean;
  readonly probes: readonly string[];
  readonly snapshots: readonly SnapshotOrder[];
  readonly frames: number | null;
  readonly seconds: number | null;
  readonly pace: "realtime" | "fast" | null;
  readonly attach: readonly { readonly slot: string; readonly params: Readonly<Record<string, string>> }[];
  readonly video: string | null;
  readonly tracks: TracksOrder | null;
  readonly telemetry: TelemetryOrder | null;
  readonly log: string | null;
  readonly watch: boolean;
  readonly svg: string | null;
  readonly dot: string | null;
  readonly json: boolean;
  readonly quiet: boolean;
}

export function readSettings(given: Given): RunSettings {
  return {
    stats: given.flag("stats"),
    probes: given.texts("probe"),
    snapshots: given.texts("snapshot").map(readSnapshot),
    frames: given.number("frames", "whole") ?? null,
    seconds: given.number("seconds", "any") ?? null,
    pace: given.choice("pace", ["realtime", "fast"]) ?? null,
    attach: given.texts("attach").map(readSlotWords),
    video: given.text("video") ?? null,
    tracks: readTracksFile(given.text("tracks")),
    telemetry: readTelemetryOrder(given),
    log: readLevels(given.text("log")),
    watch: given.flag("watch"),
    svg: given.text("svg") ?? null,
    dot: given.text("dot") ?? null,
    json: given.flag("json"),
    quiet: given.flag("quiet"),
  };
}

export function readSnapshot(text: string): SnapshotOrder {
  const [, node, time, file] = /^([^@]+)@([^=]+)=(.+)$/s.exec(text) ?? [];
  if (node === undefined || time === undefined || file === undefined)
    throw new UsageFault(`--snapshot is "${text}"; expected NODE@TIME=FILE, as in decode@12.5s=frame.png`);
  const seconds = readTime(time);
  if (seconds === null)
    throw new UsageFault(`--snapshot has the time "${time}"; expected 12.5s, 800ms or minutes and seconds, 1:02.5`);
  const type = readPictureType(file);
  if (type === undefined) throw new UsageFault(`--snapshot writes .png or .jpg, not "${file}"`);
  return { node, atNs: BigInt(Math.round(seconds * 1e6)) * 1000n, file, type };
}

const TIME = /^(?:(\d{1,6}):)?(\d{1,9}(?:\.\d+)?)(s|ms)?$/;

function readTime(text: string): number | null {
  const [whole, minutes, number, unit] = TIME.exec(text.trim()) ?? [];
  if (whole === undefined || (minutes !== undefined && unit === "ms")) return null;
  return Number(minutes ?? 0) * 60 + Number(number) * (unit === "ms" ? 0.001 : 1);
}

const LEVEL = /^(?:[^:,\s]+:)?(?:\d|none|error|warning|fixme|info|debug|log|trace|memdump)$/i;

function readLevels(text: string | undefined): string | null {
  if (text === undefined) return null;
  const wrong = text.split(",").find((part) => !LEVEL.test(part));
  if (wrong === undefined) return text;
  throw new UsageFault(`--log has "${wrong}"; expected a level from 0 to 9, or category:level, as in rtspsrc:5,*:2`);
}
