import type { ProcessRow } from "../store/processes.ts";
import type { ProcessState } from "./processes.ts";

export interface Standpoint {
  readonly state: ProcessState;
  readonly desired: ProcessRow["desired"];
  /** Its first start succeeded, or was another server's. */
  readonly isKept: boolean;
}

/** What it is to clients: one that is started again is still what it should be, and never back at its start. */
export function showState({ state, desired, isKept }: Standpoint): ProcessState {
  if (state !== "starting" || !isKept) return state;
  return desired === "paused" ? "paused" : "running";
}
