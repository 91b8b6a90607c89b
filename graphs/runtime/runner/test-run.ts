/** A job that is a test of its graph: limits its frames, and counts what it expects. */
import type { Pipeline } from "../../../native/pipeline.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { RunnerJob, RunnerMessage } from "../../../schemas/runner.ts";
import type { GraphEvent } from "../events.ts";
import { FrameCount, StreamTime } from "../frame-count.ts";
import { Tally } from "../tally.ts";

type TestOrder = NonNullable<RunnerJob["test"]>;

export class TestRun {
  readonly #order: TestOrder;
  readonly #tally: Tally;
  readonly #count = new FrameCount();
  readonly #time = new StreamTime();
  #errors = 0;
  #lastError: string | null = null;

  constructor(order: TestOrder) {
    this.#order = order;
    this.#tally = new Tally(new Map(Object.entries(order.aliases)));
  }

  onBuilt(pipeline: Pipeline, origins: readonly string[]): void {
    const { frames } = this.#order;
    if (frames !== null) for (const node of origins) pipeline.limit(node, { frames });
    this.#count.place(pipeline, origins);
    this.#time.place(pipeline, origins);
  }

  onClosing(): void {
    this.#count.keep();
    this.#time.keep();
  }

  see(channel: string, message: JsonRecord): void {
    this.#tally.see(channel, message);
  }

  onEvent(event: GraphEvent): void {
    if (event.type !== "log" || event.level !== "error") return;
    this.#errors += 1;
    this.#lastError = event.message;
  }

  report(): RunnerMessage {
    const numbers = {
      frames: this.#count.frames,
      clipSeconds: Number(this.#time.spentNs) / 1e9,
      seconds: (performance.now() - (this.#time.beganMs ?? performance.now())) / 1000,
    };
    const found = this.#order.metrics.map((metric) => this.#tally.read(metric, numbers));
    return { type: "tested", found, errors: this.#errors, lastError: this.#lastError };
  }
}
