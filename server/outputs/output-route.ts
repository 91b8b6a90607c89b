/** Where an output goes to, for one run of its process. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { AttachedOutput } from "../store/attachments.ts";

export interface OutputRoute {
  /** Of the slot that has the name of the output's type. Secret. */
  readonly params: JsonRecord;
  /** It is not gone any more. */
  release(): void;
}

/** There is none now, and there may be one later. */
export class NoRoute extends Error {}

/**
 * Null for data, which flows anyway. Rejects with `ServiceError` when it may not go there, and with `NoRoute`.
 * @param failing how it goes now, in vain: given back where there is no other way
 */
export type RouteOutput = (output: AttachedOutput, failing: OutputRoute | null) => Promise<OutputRoute | null>;
