/**
 * The contract of a telemetry format, and parsing for formats. Each format is one file, and its name in formats.ts: for
 * messages that arrive one by one, for whole files, or for both. Of a format for messages one instance is created per source,
 * which may keep state: most send partial messages.
 */

import type { TSchema } from "typebox";
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import { Checks } from "../schemas/bounded-check.ts";
import type { TelemetrySample } from "../schemas/telemetry.ts";
import { geoidHeightM } from "../terrain/geoid.ts";

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
  /**
   * Throws `TelemetryFault`. Null: the message says nothing about the camera. `receivedMs`: Unix time of arrival; null for
   * messages from a file.
   */
  read(payload: Uint8Array | string, receivedMs: number | null): Reading | null;
  /** False: the message need not be read. Absent: all are read. Must be fast, and not change anything. */
  isRelevant?(payload: Uint8Array | string): boolean;
}

/** A format whose messages all say something about the camera. */
export interface WholeFormat extends TelemetryFormat {
  read(payload: Uint8Array | string, receivedMs: number | null): Reading;
}

/** A reading of a file of telemetry. */
export interface FileReading extends Reading {
  /** Time in the video, if the file states it, with its standard deviation. */
  readonly videoMs?: number;
  readonly videoErrorMs?: number;
  /** Whether the camera was recording, if the file states it. */
  readonly isRecording?: boolean;
}

/**
 * Reads a whole file in small steps: the caller gives others a turn between them. Null: something that is not a reading was
 * passed over. Throws `TelemetryFault` if the file does not have the format.
 */
export type TelemetryFileReader = (bytes: Uint8Array, parameters: FormatParameters) => Generator<FileReading | null>;

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

/** Of a text file, without its byte order mark. Bytes that are not UTF-8 are replaced. */
export const readText = (bytes: Uint8Array): string => new TextDecoder("utf-8").decode(bytes);

/** A longer line is cut: no format has one. */
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 10;

/** The lines of a text file, without their ends. */
export function* readLines(bytes: Uint8Array): Generator<{ readonly line: string; readonly number: number }> {
  let number = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, at);
    const end = found < 0 ? bytes.length : found;
    number += 1;
    yield { line: readText(bytes.subarray(at, Math.min(end, at + MAX_LINE_BYTES))).replace(/\r$/, ""), number };
    at = end + 1;
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

/** Height of mean sea level above the ellipsoid; `auto`: by EGM96, undefined without a position. */
export function separationAt(given: number | "auto", latitude?: number, longitude?: number): number | undefined {
  if (given !== "auto") return given;
  return latitude === undefined || longitude === undefined ? undefined : geoidHeightM(latitude, longitude);
}
