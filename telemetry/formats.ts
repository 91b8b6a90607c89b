/** The telemetry formats by name. */
import type { FormatParameters, TelemetryFormat } from "./format.ts";
import { createNative } from "./native.ts";
import { createVendorA } from "./vendor-a.ts";

const FORMATS = { native: createNative, vendor_a: createVendorA } as const satisfies Record<
  string,
  (parameters: FormatParameters) => TelemetryFormat
>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

/** Create one per source: a format may keep state. */
export const createFormat = (name: FormatName, parameters: FormatParameters = {}): TelemetryFormat =>
  FORMATS[name](parameters);
