/** `--telemetry FILE`: the recorded telemetry of a flight, one message per line. */
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat, FORMAT_NAMES, type FormatName } from "../../telemetry/formats.ts";
import { CommandFailure, type Given, UsageFault } from "../command.ts";
import { readSlotWords } from "../compile-graph.ts";
import { readTextFile } from "../files.ts";

const ELEMENT = "telemetry";
/** A day at two messages per second; the limit of the element. */
const MOST_MESSAGES = 200_000;
const MOST_BYTES = 500_000_000;
const NUMBERS = ["sensor_hfov", "sensor_vfov", "geoid_separation_m"];
const SETTINGS = [...NUMBERS, "gimbal_yaw_frame"];

export interface TelemetryOrder {
  readonly file: string;
  readonly format: FormatName;
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
  const { slot: name, params } = readSlotWords(text ?? "native");
  const format = FORMAT_NAMES.find((known) => known === name);
  if (format === undefined)
    throw new UsageFault(
      `--telemetry-format is "${name}"; expected ${FORMAT_NAMES.join(" or ")}${didYouMean(name, FORMAT_NAMES)}`,
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
  const fits = name === "geoid_separation_m" ? Math.abs(value) <= 200 : value > 0 && value < 180;
  if (fits) return value;
  const wanted = name === "geoid_separation_m" ? "metres from -200 to 200" : "degrees above 0 and below 180";
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
export function readFlight({ file, format: name, parameters }: TelemetryOrder): Flight {
  const format = createFormat(name, parameters);
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
    samples.push(reading.sample);
    lack = reading.lack;
  }
  if (samples.length === 0) throw new CommandFailure(`${file} has no messages; expected one per line`);
  return { samples: samples.sort((a, b) => (a.timeMs ?? 0) - (b.timeMs ?? 0)), lack, cut };
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
