/**
 * The contract of a telemetry format. One file a format; another one (MAVLink, MISB KLV) is one more file and its name in
 * formats.ts. A format is created for each source and may remember: `vendor_a` sends parts and means the whole.
 */
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import type { TelemetrySample } from "../schemas/telemetry.ts";

export interface Reading {
  /** For the element `telemetry`. */
  readonly sample: TelemetrySample;
  /** The same in the native fields, for the socket `drone_data`. */
  readonly native: Partial<TelemetryMessage> & Pick<TelemetryMessage, "timestamp">;
  /** Why it is of less use than it could be: what is missing, and what to do. Null when nothing is. */
  readonly lack: string | null;
  /** What a laser range finder points at, where there is one: for tests and for finding faults. */
  readonly measured?: {
    readonly latitude: number;
    readonly longitude: number;
    readonly altitude: number;
    readonly distance: number;
  };
}

/** What the source says of its telemetry: `telemetry_cfg.parameters`, checked. Each format takes what it knows of it. */
export type FormatParameters = Readonly<Record<string, unknown>>;

export interface TelemetryFormat {
  /** Throws `TelemetryFault`. `receivedMs`: Unix time; null when it is read from a file. */
  read(payload: Uint8Array | string, receivedMs: number | null): Reading;
}

/** A message that cannot be used; says what was expected. `faults` by JSON pointers; none: it could not be parsed at all. */
export class TelemetryFault extends Error {
  override readonly name = "TelemetryFault";
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  constructor(message: string, faults: TelemetryFault["faults"] = []) {
    super(message);
    this.faults = faults;
  }
}
