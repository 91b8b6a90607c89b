import type { LiveProcess } from "./describe-process.ts";
import type { ProcessState } from "./processes.ts";

export type EndState = "finished" | "failed";

/** What this machine holds, for the metrics. */
export interface ProcessNumbers {
  readonly states: Readonly<Record<Exclude<ProcessState, EndState>, number>>;
  readonly reconnecting: number;
}

/** Every state is told of, also with 0: one that is missing would look as it did when it was last told of. */
export function countProcesses(views: Iterable<Pick<LiveProcess, "state" | "reconnecting">>): ProcessNumbers {
  const states = { starting: 0, running: 0, paused: 0, stopping: 0 };
  let reconnecting = 0;
  for (const view of views) {
    if (isEnd(view.state)) continue;
    states[view.state] += 1;
    if (view.reconnecting) reconnecting += 1;
  }
  return { states, reconnecting };
}

export const isEnd = (state: ProcessState): state is EndState => state === "finished" || state === "failed";
