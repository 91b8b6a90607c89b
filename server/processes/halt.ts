/** What is shown of a process through which nothing flows just now. Pure. */
import type { RunnerStats } from "../../schemas/runner.ts";
import type { OutputState } from "./process-outputs.ts";
import type { ProcessState } from "./processes.ts";

interface Standpoint {
  readonly state: ProcessState;
  readonly reconnecting: boolean;
}

/** Outputs get nothing then: that is why, and nothing that they are at fault for. */
export function explainHalt(
  outputs: readonly OutputState[],
  { state, reconnecting }: Standpoint,
): readonly OutputState[] {
  const detail = explain(state, reconnecting);
  if (detail === null) return outputs;
  return outputs.map((output) => {
    if (output.status === "failed") return output;
    return { ...output, status: output.status === "retrying" ? "starting" : output.status, detail };
  });
}

/** What was counted stays. */
export const stopRates = (stats: RunnerStats): RunnerStats => ({ ...stats, fps_in: 0, fps_processed: 0, fps_out: 0 });

function explain(state: ProcessState, reconnecting: boolean): string | null {
  if (state === "paused") return "the process is paused";
  return reconnecting ? "the process waits for its source" : null;
}
