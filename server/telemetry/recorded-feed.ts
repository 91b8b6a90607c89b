/**
 * Recorded telemetry of a video, sent to its runner: the samples around the position with the job, before the first frame,
 * and the others in batches as fast as the runner takes them.
 */
import type { TelemetryBatch } from "../../schemas/telemetry.ts";
import type { StoredSamples } from "./stored-samples.ts";

const BATCH = 500;
/** Samples before the position, by which the first frames are interpolated. */
const BEFORE_MS = 5_000;

export class RecordedFeed {
  readonly #samples: StoredSamples;
  #next = 0;
  #epochMs = 0;
  /** Counts runners: a batch that waits for an earlier one is not followed by another. */
  #run = 0;

  constructor(samples: StoredSamples) {
    this.#samples = samples;
  }

  /** For a new runner. `epochMs`: Unix time of the first frame of the video. */
  begin(epochMs: number, positionMs: number): TelemetryBatch {
    this.#run += 1;
    this.#epochMs = epochMs;
    this.#next = Math.max(0, this.#samples.findIndex(positionMs - BEFORE_MS) - 1);
    return this.#take();
  }

  /** Ends with the last sample, or when the runner does not take more. */
  async send(deliver: (batch: TelemetryBatch) => Promise<unknown>): Promise<void> {
    const run = this.#run;
    while (run === this.#run && this.#next < this.#samples.count) await deliver(this.#take());
  }

  #take(): TelemetryBatch {
    const samples = this.#samples.slice(this.#next, this.#next + BATCH, this.#epochMs);
    this.#next += BATCH;
    return { samples: [...samples] };
  }
}
