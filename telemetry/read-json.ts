import type { TSchema } from "typebox";
import { Checks } from "../schemas/bounded-check.ts";
import { TelemetryFault } from "./format.ts";

const checks = new Checks({});
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Of one message: whoever mends these finds the others. */
const MOST_FAULTS = 20;

/** Throws `TelemetryFault` without `faults`: what is no JSON has no places to point at. */
export function readJson(payload: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof payload === "string" ? payload : decoder.decode(payload));
  } catch {
    throw new TelemetryFault("Expected one JSON object in each message; this is no JSON.");
  }
}

/** Compiled when it is first needed. Throws `TelemetryFault` with the faults, and `detail` as its message. */
export function expectBy(schema: TSchema, detail: string): (value: unknown) => void {
  const check = checks.by(schema);
  return (value) => {
    const faults = check(value);
    if (faults.length > 0) throw new TelemetryFault(detail, faults.slice(0, MOST_FAULTS));
  };
}
