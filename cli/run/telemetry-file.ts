/** `--telemetry FILE`: the recorded telemetry of a flight, one message per line or in another format of files. */
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import {
  createFormat,
  FILE_FORMAT_NAMES,
  type FileFormatName,
  type FormatName,
  readTelemetryFile,
} from "../../telemetry/formats.ts";
import { CommandFailure, type Given, UsageFault } from "../command.ts";
import { readSlotWords } from "../compile-graph.ts";
import { readBytes, readTextFile } from "../files.ts";

const ELEMENT = "telemetry";
/** A day at two messages per second; the limit of the element. */
const MOST_MESSAGES = 200_000;
const MOST_BYTES = 500_000_000;
const LINES: readonly FileFormatName[] = ["native", "vendor_a"];
const NUMBERS = ["sensor_hfov", "sensor_vfov", "geoid_separation_m", "takeoff_altitude_m"];
const SETTINGS = [...NUMBERS, "gimbal_yaw_frame"];

export interface TelemetryOrder {
  readonly file: string;
  readonly format: FileFormatName;
  readonly parameters: Readonly<Record<string, string | number>>;
}

export interface Flight {
  readonly samples: readonly TelemetrySample[];
  /** What the last message lacks, or null. */
  readonly lack: string | null;
  /** Set if the last line was incomplete and skipped. */
  readonly cut: string | null;
}

export function readTelemetryOrder(given: Given): TelemetryOrder | null {
  const file = given.text("telemetry");
  const text = given.text("telemetry-format");
  if (file === undefined) {
    if (text !== undefined) throw new UsageFault("--telemetry-format needs --telemetry FILE");
    return null;
  }
  return orderTelemetry(file, text ?? "native");
}

/** `text` is the format and its settings. Throws `UsageFault`. */
export function orderTelemetry(file: string, text: string): TelemetryOrder {
  const { slot: name, params } = readSlotWords(text);
  const format = FILE_FORMAT_NAMES.find((known) => known === name);
  if (format === undefined)
    throw new UsageFault(
      `--telemetry-format is "${name}"; expected ${FILE_FORMAT_NAMES.join(" or ")}${didYouMean(name, FILE_FORMAT_NAMES)}`,
    );
  return { file, format, parameters: readParameters(params) };
}

function readParameters(given: Readonly<Record<string, string>>): TelemetryOrder["parameters"] {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      if (!SETTINGS.includes(name))
        throw new UsageFault(
          `--telemetry-format has no setting "${name}"; expected ${SETTINGS.join(", ")}${didYouMean(name, SETTINGS)}`,
        );
      if (NUMBERS.includes(name)) return [name, readNumber(name, text)];
      if (text === "north" || text === "body") return [name, text];
      throw new UsageFault(`--telemetry-format has ${name}=${text}; expected north or body`);
    }),
  );
}

function readNumber(name: string, text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  const most = { geoid_separation_m: 200, takeoff_altitude_m: 10_000 }[name];
  const fits = most === undefined ? value > 0 && value < 180 : Math.abs(value) <= most;
  if (fits) return value;
  const wanted = most === undefined ? "degrees above 0 and below 180" : `metres from -${most} to ${most}`;
  throw new UsageFault(`--telemetry-format has ${name}=${text}; expected ${wanted}`);
}

/** Throws `UsageFault` for a graph without the element `telemetry`. */
export function expectTelemetry({ graph, main, branches }: GraphPlan): void {
  if ([main, ...branches].some(({ nodes }) => nodes.some(({ element }) => element === ELEMENT))) return;
  throw new UsageFault(
    `--telemetry needs the element \`${ELEMENT}\`, and the graph "${graph}" has none; see \`npx windhover explain detect\` for an example`,
  );
}

/** Throws `CommandFailure` for an unreadable file or, with its line number, an invalid message. */
export function readFlight(order: TelemetryOrder): Flight {
  const { file, format: name, parameters } = order;
  if (!LINES.includes(name)) return readOther(order);
  const format = createFormat(name as FormatName, parameters);
  const samples: TelemetrySample[] = [];
  let lack: string | null = null;
  let cut: string | null = null;
  let number = 0;
  const lines = readTextFile(file, "expected a telemetry file", MOST_BYTES).trimEnd().split("\n");
  for (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    if (samples.length === MOST_MESSAGES)
      throw new CommandFailure(`${file}:${number}: too many messages; expected up to ${MOST_MESSAGES}`);
    if (number === lines.length && samples.length > 0 && !isJson(line)) {
      cut = `${file}:${number}: the last line is incomplete and was skipped`;
      break;
    }
    const reading = readLine(format, line, `${file}:${number}`);
    if (reading === null) continue;
    samples.push(reading.sample);
    lack = reading.lack;
  }
  if (samples.length === 0) throw new CommandFailure(`${file} has no messages; expected one per line`);
  return { samples: samples.sort((a, b) => (a.timeMs ?? 0) - (b.timeMs ?? 0)), lack, cut };
}

/** Its first sample belongs to the first frame, unless it states times in the video. */
function readOther({ file, format, parameters }: TelemetryOrder): Flight {
  const samples: TelemetrySample[] = [];
  let lack: string | null = null;
  const bytes = readBytes(file, "expected a telemetry file", MOST_BYTES);
  try {
    for (const reading of readTelemetryFile(format, bytes, parameters)) {
      if (reading === null || samples.length === MOST_MESSAGES) continue;
      const { sample, videoMs } = reading;
      samples.push({ ...sample, timeMs: videoMs ?? sample.timeMs });
      lack = reading.lack;
    }
  } catch (error) {
    if (!(error instanceof TelemetryFault)) throw error;
    throw new CommandFailure(`${file}: ${error.message}`, { cause: error });
  }
  if (samples.length === 0) throw new CommandFailure(`${file} has no telemetry in the format ${format}`);
  return { samples: samples.sort((a, b) => (a.timeMs ?? 0) - (b.timeMs ?? 0)), lack, cut: null };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function readLine(format: TelemetryFormat, line: string, place: string) {
  try {
    return format.read(line, null);
  } catch (error) {
    if (!(error instanceof TelemetryFault)) throw error;
    const faults = error.faults.map(({ path, message }) => `\n  ${path === "" ? "it" : path} ${message}`);
    throw new CommandFailure(`${place}: ${error.message}${faults.join("")}`, { cause: error });
  }
}
