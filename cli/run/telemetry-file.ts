/** `--telemetry FILE`: what a drone told during a flight, one message a line. */
import { readFileSync, statSync } from "node:fs";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat, FORMAT_NAMES, type FormatName } from "../../telemetry/formats.ts";
import { CommandFailure, type Given, UsageFault } from "../command.ts";
import { readSlotWords } from "../compile-graph.ts";
import { findNearFile } from "../files.ts";

const ELEMENT = "telemetry";
/** A day at two messages a second; the element holds no more. */
const MOST_MESSAGES = 200_000;
const MOST_BYTES = 512 * 2 ** 20;
const NUMBERS = ["sensor_hfov", "sensor_vfov", "geoid_separation_m"];
const SETTINGS = [...NUMBERS, "gimbal_yaw_frame"];

export interface TelemetryOrder {
  readonly file: string;
  readonly format: FormatName;
  readonly parameters: Readonly<Record<string, string | number>>;
}

export interface Flight {
  readonly samples: readonly TelemetrySample[];
  /** Why the last of them is of less use than it could be. */
  readonly lack: string | null;
  /** Where and why the last line was left out: a recording that was cut off ends in the middle of one. */
  readonly cut: string | null;
}

export function readTelemetryOrder(given: Given): TelemetryOrder | null {
  const file = given.text("telemetry");
  const text = given.text("telemetry-format");
  if (file === undefined) {
    if (text !== undefined)
      throw new UsageFault("--telemetry-format says how to read --telemetry FILE, which is missing");
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
          `--telemetry-format has no setting "${name}"; there are ${SETTINGS.join(", ")}${didYouMean(name, SETTINGS)}`,
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

/** Throws `UsageFault` for a graph that telemetry means nothing to. */
export function expectTelemetry({ graph, main, branches }: GraphPlan): void {
  if ([main, ...branches].some(({ nodes }) => nodes.some(({ element }) => element === ELEMENT))) return;
  throw new UsageFault(
    `--telemetry is for the element \`${ELEMENT}\`, and the graph "${graph}" has none; \`npx windhover explain detect\` shows one that has`,
  );
}

/** Throws `CommandFailure` for a file that cannot be read, and with its line for a message that cannot. */
export function readFlight({ file, format: name, parameters }: TelemetryOrder): Flight {
  const format = createFormat(name, parameters);
  const samples: TelemetrySample[] = [];
  let lack: string | null = null;
  let cut: string | null = null;
  let number = 0;
  // Some editors put a mark before the first line.
  const lines = readText(file)
    .replace(/^\uFEFF/, "")
    .trimEnd()
    .split("\n");
  for (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    if (samples.length === MOST_MESSAGES)
      throw new CommandFailure(`${file}:${number}: expected at most ${MOST_MESSAGES} messages`);
    if (number === lines.length && samples.length > 0 && !isJson(line)) {
      cut = `${file}:${number}: the last line is cut off, and left out`;
      break;
    }
    const reading = readLine(format, line, `${file}:${number}`);
    samples.push(reading.sample);
    lack = reading.lack;
  }
  if (samples.length === 0) throw new CommandFailure(`${file} has no message in it; expected one a line`);
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

function readText(file: string): string {
  try {
    const { size } = statSync(file);
    if (size > MOST_BYTES) throw new CommandFailure(`${file} is too large for telemetry: more than 512 MiB`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new CommandFailure(`${file} cannot be read: ${message}`, { cause });
    const near = findNearFile(file);
    throw new CommandFailure(`there is no file ${file}${near === undefined ? "" : `; did you mean "${near}"?`}`, {
      cause,
    });
  }
}
