/** The telemetry formats by name: of messages, and of files. */
import { readDjiSrt } from "./dji-srt.ts";
import { readFlightCsv } from "./flight-csv.ts";
import {
  type FileReading,
  type FormatParameters,
  TelemetryFault,
  type TelemetryFileReader,
  type TelemetryFormat,
} from "./format.ts";
import { createMavlink, readTlog } from "./mavlink.ts";
import { createMisb0601 } from "./misb-0601.ts";
import { createNative } from "./native.ts";
import { readMessageLines } from "./ndjson.ts";
import { createVendorA } from "./vendor-a.ts";

const FORMATS = {
  native: createNative,
  vendor_a: createVendorA,
  mavlink: createMavlink,
  misb_0601: createMisb0601,
} as const satisfies Record<string, (parameters: FormatParameters) => TelemetryFormat>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

/** Create one per source: a format may keep state. */
export const createFormat = <Name extends FormatName>(name: Name, parameters: FormatParameters = {}) =>
  FORMATS[name](parameters) as ReturnType<(typeof FORMATS)[Name]>;

const FILE_FORMATS = {
  native: readMessageLines(createNative),
  vendor_a: readMessageLines(createVendorA),
  dji_srt: readDjiSrt,
  flight_csv: readFlightCsv,
  mavlink: readTlog,
} as const satisfies Record<string, TelemetryFileReader>;

export type FileFormatName = keyof typeof FILE_FORMATS;
export const FILE_FORMAT_NAMES = Object.keys(FILE_FORMATS) as readonly FileFormatName[];

export const readTelemetryFile = (
  name: FileFormatName,
  bytes: Uint8Array,
  parameters: FormatParameters,
): Generator<FileReading | null> => FILE_FORMATS[name](bytes, parameters);

/** The format of a file, by its first bytes. Throws `TelemetryFault` if they are of none. */
export function recogniseFormat(bytes: Uint8Array): FileFormatName {
  if (bytes[8] === 0xfe || bytes[8] === 0xfd) return "mavlink";
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4096)).toString("utf8");
  const text = start.replace(/^\uFEFF/, "").trimStart();
  if (text.startsWith("{")) return /^.{0,200}"data" {0,4}:/s.test(text) ? "vendor_a" : "native";
  if (text.includes("-->")) return "dji_srt";
  if (/latitude/i.test(text)) return "flight_csv";
  throw new TelemetryFault(
    `Expected a telemetry file; its first bytes are of none of the formats ${FILE_FORMAT_NAMES.join(", ")}. If it is one, send its name as format.`,
  );
}
