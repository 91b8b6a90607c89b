/** Runs one job to its end in a runner of its own, besides the processes: clips, and tests of graphs. */
import { setPriority } from "node:os";
import type { Logger } from "pino";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import type { Confinement } from "../confinement/confinement.ts";
import type { RunEnd } from "./lifecycle.ts";
import { Runner } from "./runner.ts";
import type { RunnerFolders } from "./runner-folders.ts";

export interface RunAloneDeps {
  readonly runnerEntry: URL;
  readonly confinement: Confinement;
  readonly memoryBytes: number;
  readonly log: Logger;
}

interface AloneOrder {
  readonly job: RunnerJob;
  /** For jobs that name files of the data folder; null: it can open none. */
  readonly folders: RunnerFolders | null;
  /** Folders that it can write to. */
  readonly writes: readonly string[];
  /** Aborted when its result is not needed any longer: it is killed. */
  readonly signal: AbortSignal;
  onReport(report: RunnerMessage, runner: Runner): void;
}

const NICE = 10;
const LIMITS = { loadMs: 30_000, replyMs: 30_000, stopMs: 15_000, silentMs: 20_000 };

/** Never rejects. */
export async function runAlone(
  { runnerEntry, confinement, memoryBytes, log }: RunAloneDeps,
  { job, folders, writes, signal, onReport }: AloneOrder,
): Promise<RunEnd> {
  const runner = new Runner({ entry: runnerEntry, confinement, memoryBytes, folders, writes, log, ...LIMITS });
  // Live processes come first. Its threads, which are started later, inherit it.
  if (runner.pid !== undefined) setPriority(runner.pid, NICE);
  const onAbort = () => runner.kill("its result is not needed any longer");
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await runner.child.loaded.catch(() => {});
    if (!runner.child.isGone) runner.start(job, { onReport: (report) => onReport(report, runner), onPicture() {} });
    return await runner.ended;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
