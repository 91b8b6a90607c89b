import { Ajv2020, type AnySchema, type ValidateFunction } from "ajv/dist/2020.js";
import type { TSchema } from "typebox";
import { describeFaults } from "../schemas/describe-fault.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { TelemetryFault } from "./format.ts";

const ajv = new Ajv2020({ ...OWN_SCHEMAS, allErrors: true, verbose: true, logger: false });
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
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv.compile(schema as AnySchema);
    if (!validate(value))
      throw new TelemetryFault(detail, describeFaults((validate.errors ?? []).slice(0, MOST_FAULTS)));
  };
}
