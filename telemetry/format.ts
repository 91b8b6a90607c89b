/**
 * The contract of a telemetry format, and JSON parsing for formats. Each format is one file; a new one (MAVLink, MISB KLV)
 * is one more file and its name in formats.ts. One instance is created per source and may keep state: `vendor_a` sends
 * partial messages.
 */

import type { TSchema } from "typebox";
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import { Checks } from "../schemas/bounded-check.ts";
import type { TelemetrySample } from "../schemas/telemetry.ts";

export interface Reading {
  /** For the element `telemetry`. */
  readonly sample: TelemetrySample;
  /** The same in the native fields, for the websocket `drone_data`. */
  readonly native: Partial<TelemetryMessage> & Pick<TelemetryMessage, "timestamp">;
  /** What is missing for full geolocation, and what to do. Null if nothing is missing. */
  readonly lack: string | null;
  /** The target of the laser range finder, if there is one: for tests and diagnosis. */
  readonly measured?: {
    readonly latitude: number;
    readonly longitude: number;
    readonly altitude: number;
    readonly distance: number;
  };
}

/** `telemetry_cfg.parameters` of the source, validated. Each format uses the fields it knows. */
export type FormatParameters = Readonly<Record<string, unknown>>;

export interface TelemetryFormat {
  /** Throws `TelemetryFault`. `receivedMs`: Unix time of arrival; null for messages from a file. */
  read(payload: Uint8Array | string, receivedMs: number | null): Reading;
}

/** An unusable message; states what was expected. `faults` by JSON pointer; empty if it could not be parsed at all. */
export class TelemetryFault extends Error {
  override readonly name = "TelemetryFault";
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  constructor(message: string, faults: TelemetryFault["faults"] = []) {
    super(message);
    this.faults = faults;
  }
}

const checks = new Checks({});
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Limit per message. */
const MOST_FAULTS = 20;

/** Throws `TelemetryFault` without `faults`: invalid JSON has no JSON pointers. */
export function readJson(payload: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof payload === "string" ? payload : decoder.decode(payload));
  } catch {
    throw new TelemetryFault("Expected one JSON object per message; this is not valid JSON.");
  }
}

/** The schema is compiled on first use. The check throws `TelemetryFault` with the faults and `detail` as its message. */
export function expectBy(schema: TSchema, detail: string): (value: unknown) => void {
  const check = checks.by(schema);
  return (value) => {
    const faults = check(value);
    if (faults.length > 0) throw new TelemetryFault(detail, faults.slice(0, MOST_FAULTS));
  };
}
