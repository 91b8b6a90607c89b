/** Gives a process a runner with all that it takes to run. */
import type { RunnerJob } from "../../schemas/runner.ts";
import type { Feed } from "./feed.ts";
import { makeJob } from "./job.ts";
import { type Launched, launch, type Patience } from "./launch.ts";
import type { Ledger } from "./ledger.ts";
import type { LiveSupply } from "./live-supply.ts";
import type { ProcessBranches } from "./process-branches.ts";
import type { ProcessOutputs } from "./process-outputs.ts";
import type { ProcessNeeds, ProcessParts } from "./process-parts.ts";
import type { Recorder } from "./recorder.ts";
import type { Run } from "./run.ts";
import type { Runner, RunnerReport } from "./runner.ts";

export interface LauncherParts extends Pick<ProcessParts, "row" | "input"> {
  readonly needs: ProcessNeeds;
  readonly ledger: Ledger;
  readonly feed: Feed;
  readonly outputs: ProcessOutputs;
  readonly branches: Pick<ProcessBranches, "attachments">;
  readonly recorder: Recorder;
  readonly supply: LiveSupply;
  /** Rejects when the source is nowhere. */
  findSource(): Promise<string>;
  onReport(report: RunnerReport): void;
  /** There is a run: whoever wants it to end must end it from now on. */
  onRun(run: Run): void;
}

export interface LaunchOrder {
  /** Somebody waits for it: it comes before those for whom nobody does. */
  readonly isUrgent: boolean;
  /** Asked when there is a place to start it in. */
  patienceNow(): Patience;
}

export class Launcher {
  readonly #parts: LauncherParts;

  constructor(parts: LauncherParts) {
    this.#parts = parts;
  }

  /** See `launch`. */
  async launch({ isUrgent, patienceNow }: LaunchOrder, signal: AbortSignal): Promise<Launched> {
    const { needs, row, input, onReport, onRun } = this.#parts;
    const { limits, slots } = needs;
    try {
      return await launch(
        {
          ...{ limits, signal, isFile: input.isFile, label: row.sourceUrl, onReport, onRun },
          findSource: () => this.#findSource(),
          acquireSlot: () => slots.acquire(signal, isUrgent),
          takeRunner: () => this.#takeRunner(signal),
          makeJob: (sourceUri) => this.#makeJob(sourceUri),
        },
        patienceNow,
      );
    } finally {
      // Not sooner: on a machine of few cores the one would slow the other.
      needs.replaceRunner();
    }
  }

  /** What is attached finds its way meanwhile. */
  async #findSource(): Promise<string> {
    const { findSource, outputs, recorder, supply } = this.#parts;
    const [sourceUri] = await Promise.all([findSource(), outputs.prepare(), recorder.prepare(), supply.prepare()]);
    return sourceUri;
  }

  async #takeRunner(signal: AbortSignal): Promise<Runner> {
    const { needs, feed } = this.#parts;
    const runner = await needs.takeRunner(signal);
    runner.showPictures((slot, picture) => feed.show(slot, picture));
    return runner;
  }

  #makeJob(sourceUri: string): RunnerJob {
    const { row, input, ledger, feed, outputs, branches, recorder, supply, needs } = this.#parts;
    const { watched } = feed;
    feed.noteRun(watched);
    const { positionNs, startedAt, trackIds } = ledger;
    return makeJob({
      row,
      params: ledger.params,
      sourceUri,
      sourceAddresses: input.addresses?.() ?? [],
      positionNs: input.isFile ? positionNs : 0,
      startedAt,
      firstTrackId: trackIds.next,
      live: supply.beginRun(),
      attached: [...outputs.attachments, ...branches.attachments, ...recorder.begin()],
      watched,
      giveUpSeconds: needs.limits.giveUpMs / 1000,
    });
  }
}
