/** The options of `run` and `launch`. */
import { statSync } from "node:fs";
import { readPictureType } from "../../elements/snapshot/picture-file.ts";
import { type Given, type Options, UsageFault } from "../command.ts";
import { readSlotWords } from "../compile-graph.ts";
import { readTracksFile, type TracksOrder } from "./output-files.ts";
import { readTelemetryOrder, type TelemetryOrder } from "./telemetry-file.ts";
import { MOST_FRAMES } from "./trace/limits.ts";

export const RUN_OPTIONS = {
  stats: {
    type: "boolean",
    about: "Show fps, processing time, queue level and dropped buffers of every step.",
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
    about: "Save the frame that leaves NODE at TIME (12.5s, 800ms or 1:02.5) as .png or .jpg.",
  },
  frames: { type: "string", value: "N", about: "Stop after exactly N frames of each source." },
  seconds: { type: "string", value: "N", about: "Stop after N seconds of the stream." },
  pace: {
    type: "string",
    value: "PACE",
    about: "realtime: in the speed of playback; fast: as fast as possible (default for files and patterns).",
  },
  attach: {
    type: "string",
    multiple: true,
    value: "SLOT[:name=value,…]",
    about: "Attach a slot of the graph before the first frame.",
  },
  video: {
    type: "string",
    value: "FILE",
    about: "Write the video with detections drawn on it: short for --attach video:path=FILE.",
  },
  tracks: {
    type: "string",
    value: "FILE",
    about: "Write every track with its path, as .geojson, .kml or .csv. Needs the element `report`.",
  },
  telemetry: {
    type: "string",
    value: "FILE",
    about:
      "Recorded telemetry. The first message belongs to the first frame, unless the file states times in the video.",
  },
  "telemetry-format": {
    type: "string",
    value: "NAME[:name=value,…]",
    about:
      "Format of the file: native (the default) or vendor_a, one message per line; dji_srt, flight_csv or mavlink (.tlog). With settings such as vendor_a:sensor_hfov=71,sensor_vfov=44.",
  },
  terrain: {
    type: "string",
    value: "FOLDER",
    about: "Heights of the ground for geolocation: SRTM (.hgt), DTED and GeoTIFF files. Default: level ground.",
  },
  log: {
    type: "string",
    value: "LEVELS",
    about: "Show GStreamer's log, with levels as in GST_DEBUG: 3, or rtspsrc:5,*:2.",
  },
  svg: { type: "string", value: "FILE", about: "Draw the graph as SVG." },
  dot: { type: "string", value: "FILE", about: "Write the running pipeline in Graphviz's DOT language." },
  trace: {
    type: "string",
    value: "FILE",
    about: `Write when every frame was in which step, and the level of every queue, as a trace of up to ${MOST_FRAMES} frames for https://ui.perfetto.dev.`,
  },
  json: { type: "boolean", about: "Print only JSON: notes and a final summary as lines on standard error." },
  quiet: { type: "boolean", short: "q", about: "Print errors only." },
} as const satisfies Options;

export const RUN_NOTES = [
  "The output of the graph (element `print`) and of --probe goes to standard output, everything else to standard error. A probe never slows the graph down: buffers that it cannot print in time are counted as `lost`.",
  "Ctrl-C ends the stream, finishes frames in flight and finalises files; a second Ctrl-C aborts.",
  "At pace fast nothing reads the clock: a stream begins at 1970-01-01T00:00:00Z, and the same clip always gives the same output.",
  "Exit codes: 0 success, 1 failure, 2 invalid graph or command line. After Ctrl-C, npx itself may exit with 130.",
].join("\n");

export interface SnapshotRequest {
  readonly node: string;
  readonly atNs: bigint;
  readonly file: string;
  readonly type: "image/png" | "image/jpeg";
}

export interface RunSettings {
  readonly stats: boolean;
  readonly probes: readonly string[];
  readonly snapshots: readonly SnapshotRequest[];
  readonly frames: number | null;
  readonly seconds: number | null;
  readonly pace: "realtime" | "fast" | null;
  readonly attach: readonly { readonly slot: string; readonly params: Readonly<Record<string, string>> }[];
  readonly video: string | null;
  readonly tracks: TracksOrder | null;
  readonly telemetry: TelemetryOrder | null;
  readonly terrain: string | null;
  readonly log: string | null;
  readonly watch: boolean;
  readonly svg: string | null;
  readonly dot: string | null;
  readonly trace: string | null;
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
    terrain: readTerrainFolder(given.text("terrain")),
    log: readLevels(given.text("log")),
    watch: given.flag("watch"),
    svg: given.text("svg") ?? null,
    dot: given.text("dot") ?? null,
    trace: given.text("trace") ?? null,
    json: given.flag("json"),
    quiet: given.flag("quiet"),
  };
}

export function readSnapshot(text: string): SnapshotRequest {
  const [, node, time, file] = /^([^@]+)@([^=]+)=(.+)$/s.exec(text) ?? [];
  if (node === undefined || time === undefined || file === undefined)
    throw new UsageFault(`--snapshot is "${text}"; expected NODE@TIME=FILE, as in decode@12.5s=frame.png`);
  const seconds = readTime(time);
  if (seconds === null)
    throw new UsageFault(`--snapshot has the time "${time}"; expected 12.5s, 800ms or minutes and seconds, 1:02.5`);
  const type = readPictureType(file);
  if (type === undefined) throw new UsageFault(`--snapshot writes .png or .jpg; received "${file}"`);
  return { node, atNs: BigInt(Math.round(seconds * 1e6)) * 1000n, file, type };
}

const TIME = /^(?:(\d{1,6}):)?(\d{1,9}(?:\.\d+)?)(s|ms)?$/;

function readTime(text: string): number | null {
  const [whole, minutes, number, unit] = TIME.exec(text.trim()) ?? [];
  if (whole === undefined || (minutes !== undefined && unit === "ms")) return null;
  return Number(minutes ?? 0) * 60 + Number(number) * (unit === "ms" ? 0.001 : 1);
}

function readTerrainFolder(folder: string | undefined): string | null {
  if (folder === undefined) return null;
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new UsageFault(`--terrain is "${folder}"; expected a folder with .hgt, .dt0 to .dt2 or .tif files`);
}

const LEVEL = /^(?:[^:,\s]+:)?(?:\d|none|error|warning|fixme|info|debug|log|trace|memdump)$/i;

function readLevels(text: string | undefined): string | null {
  if (text === undefined) return null;
  const wrong = text.split(",").find((part) => !LEVEL.test(part));
  if (wrong === undefined) return text;
  throw new UsageFault(`--log has "${wrong}"; expected a level from 0 to 9, or category:level, as in rtspsrc:5,*:2`);
}
