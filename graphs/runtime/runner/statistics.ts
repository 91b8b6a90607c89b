/** The numbers of a job, from a few probes: where frames come in, where they leave the main chain, and its queues. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ElementEvent } from "../../../elements/element.ts";
import type { Pipeline } from "../../../native/pipeline.ts";
import type { RunnerStats } from "../../../schemas/runner.ts";
import type { PlanSegment } from "../../compiler/plan.ts";

type Meters = Pick<Pipeline, "meter" | "meters">;

const IN = "runner in";
const MAIN = "runner main";
const QUEUE = "runner queue ";

export class Statistics {
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });
  #pipeline: Meters | null = null;
  #queues: readonly string[] = [];
  #before = { in: 0, out: 0, atMs: performance.now() };
  #rates = { in: 0, out: 0 };
  #looks = { perSecond: 0, inferenceMs: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor() {
    this.#delay.enable();
  }

  /** A pipeline is about to play. */
  place(pipeline: Meters, segments: readonly PlanSegment[], [origin]: readonly string[]): void {
    const [main] = segments;
    const first = main?.nodes.find(({ element }) => element !== "source")?.name;
    const last = main?.nodes.at(-1)?.name;
    if (main === undefined || origin === undefined || first === undefined || last === undefined) return;
    pipeline.meter(IN, origin, origin);
    pipeline.meter(MAIN, first, last);
    // What is attached loses frames of its own.
    const own = segments.filter(({ name }) => !name.includes(":"));
    const queues = own.flatMap(({ nodes }) => nodes).filter(({ factory }) => factory === "queue");
    this.#queues = queues.map(({ name }) => QUEUE + name);
    for (const { name } of queues) pipeline.meter(QUEUE + name, name, name);
    this.#pipeline = pipeline;
  }

  hear(event: ElementEvent): void {
    if (event.type !== "stats" || typeof event.inferred_per_second !== "number") return;
    const inferenceMs = typeof event.inference_ms === "number" ? event.inference_ms : 0;
    this.#looks = { perSecond: event.inferred_per_second, inferenceMs, atMs: performance.now() };
  }

  /** Rates are those since the last reading; `latency` is of live frames, else how long frames took through the chain. */
  read(latency: RunnerStats["latency_ms"] | null): RunnerStats {
    const readings = this.#pipeline?.meters([IN, MAIN, ...this.#queues]) ?? {};
    const counts = { in: readings[IN]?.out ?? 0, out: readings[MAIN]?.out ?? 0, atMs: performance.now() };
    const seconds = (counts.atMs - this.#before.atMs) / 1000;
    if (seconds >= SHORTEST_S) {
      this.#rates = {
        in: (counts.in - this.#before.in) / seconds,
        out: (counts.out - this.#before.out) / seconds,
      };
      this.#before = counts;
    }
    const isLooking = performance.now() - this.#looks.atMs < STALE_MS;
    const loopDelayMs = this.#delay.percentile(99) / 1e6;
    this.#delay.reset();
    return {
      fps_in: round(this.#rates.in),
      fps_processed: isLooking ? round(this.#looks.perSecond) : 0,
      fps_out: round(this.#rates.out),
      frames_dropped: this.#queues.reduce((sum, name) => sum + (readings[name]?.dropped ?? 0), 0),
      latency_ms: latency ?? { p50: round(readings[MAIN]?.p50Ms ?? 0), p95: round(readings[MAIN]?.p95Ms ?? 0) },
      inference_ms: this.#looks.inferenceMs,
      rss_bytes: process.memoryUsage.rss(),
      loop_delay_ms: Number.isFinite(loopDelayMs) ? round(loopDelayMs) : 0,
    };
  }

  close(): void {
    this.#delay.disable();
    this.#pipeline = null;
  }
}

/** A rate over less is noise. */
const SHORTEST_S = 0.2;
/** `detect` tells once a second while frames come. */
const STALE_MS = 3_000;

const round = (value: number): number => Math.round(value * 10) / 10;
