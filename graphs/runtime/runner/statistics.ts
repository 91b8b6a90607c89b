/** Statistics of a job: rates from a few pad probes, frames of a file that are left or lost, and running time. */
import type { ElementEvent } from "../../../elements/element.ts";
import type { TappedBuffer } from "../../../native/addon.ts";
import type { Pipeline } from "../../../native/pipeline.ts";
import type { RunnerStats, SourceLink } from "../../../schemas/runner.ts";
import type { PlanSegment } from "../../compiler/plan.ts";

type Meters = Pick<Pipeline, "meter" | "meters">;

const IN = "runner in";
const MAIN = "runner main";
const QUEUE = "runner queue ";

export class Statistics {
  readonly #delay = new LoopDelay();
  #pipeline: Meters | null = null;
  /** The meter of every queue, with the frames that it has dropped. */
  readonly #queues = new Map<string, number>();
  /** Of queues that have been removed. */
  #droppedBefore = 0;
  #before = { in: 0, out: 0, atMs: performance.now() };
  #rates = { in: 0, out: 0 };
  #link: { readonly link: SourceLink; readonly atMs: number } | null = null;
  #inference = { perSecond: 0, ms: 0, atMs: Number.NEGATIVE_INFINITY };

  /** Meters a pipeline that is about to play: the origin of frames, the main chain and its queues. */
  onBuilt(pipeline: Meters, segments: readonly PlanSegment[], [origin]: readonly string[]): void {
    const [main] = segments;
    const first = main?.nodes.find(({ element }) => element !== "source")?.name;
    const last = main?.nodes.at(-1)?.name;
    if (main === undefined || origin === undefined || first === undefined || last === undefined) return;
    this.#delay.start();
    pipeline.meter(IN, origin, origin);
    pipeline.meter(MAIN, first, last);
    this.#pipeline = pipeline;
    this.#queues.clear();
    this.#droppedBefore = 0;
    this.#follow(segments);
  }

  /** Meters the queues of branches that were attached since, and keeps the count of those that were detached. */
  #follow(segments: readonly PlanSegment[]): void {
    // Without attachments, which count their own drops.
    const own = segments.filter(({ name }) => !name.includes(":"));
    const queues = own.flatMap(({ nodes }) => nodes).filter(({ factory }) => factory === "queue");
    const names = new Map(queues.map(({ name }) => [QUEUE + name, name]));
    for (const [meter, dropped] of this.#queues) {
      if (names.has(meter)) continue;
      this.#droppedBefore += dropped;
      this.#queues.delete(meter);
    }
    for (const [meter, name] of names) {
      if (this.#queues.has(meter)) continue;
      this.#pipeline?.meter(meter, name, name);
      this.#queues.set(meter, 0);
    }
  }

  onElementEvent(event: ElementEvent): void {
    if (event.type === "link") {
      const { type: _, ...link } = event;
      this.#link = { link: link as unknown as SourceLink, atMs: performance.now() };
      return;
    }
    if (event.type !== "stats" || typeof event.inferred_per_second !== "number") return;
    const ms = typeof event.inference_ms === "number" ? event.inference_ms : 0;
    this.#inference = { perSecond: event.inferred_per_second, ms, atMs: performance.now() };
  }

  /** Rates since the last reading. `latency` is that of live frames; null: the time through the main chain. */
  read(latency: RunnerStats["latency_ms"] | null, segments: readonly PlanSegment[]): RunnerStats {
    if (this.#pipeline !== null) this.#follow(segments);
    const readings = this.#pipeline?.meters([IN, MAIN, ...this.#queues.keys()]) ?? {};
    for (const [meter, dropped] of this.#queues) this.#queues.set(meter, readings[meter]?.dropped ?? dropped);
    const counts = { in: readings[IN]?.out ?? 0, out: readings[MAIN]?.out ?? 0, atMs: performance.now() };
    const seconds = (counts.atMs - this.#before.atMs) / 1000;
    if (seconds >= MIN_INTERVAL_S) {
      const { in: input, out } = this.#before;
      this.#rates = { in: (counts.in - input) / seconds, out: (counts.out - out) / seconds };
      this.#before = counts;
    }
    const link = this.#link !== null && performance.now() - this.#link.atMs < STALE_MS ? this.#link.link : null;
    const isInferring = performance.now() - this.#inference.atMs < STALE_MS;
    return {
      fps_in: round(this.#rates.in),
      fps_processed: isInferring ? round(this.#inference.perSecond) : 0,
      fps_out: round(this.#rates.out),
      frames_dropped: [...this.#queues.values()].reduce((sum, dropped) => sum + dropped, this.#droppedBefore),
      latency_ms: latency ?? { p50: round(readings[MAIN]?.p50Ms ?? 0), p95: round(readings[MAIN]?.p95Ms ?? 0) },
      inference_ms: this.#inference.ms,
      rss_bytes: process.memoryUsage.rss(),
      loop_delay_ms: round(this.#delay.takeLongestMs()),
      ...(link !== null && { link }),
    };
  }

  close(): void {
    this.#delay.stop();
    this.#pipeline = null;
  }
}

/**
 * How late the event loop is. Not `monitorEventLoopDelay` of Node, which wakes an idle process for every sample, and counts
 * the interval between two samples as delay.
 */
class LoopDelay {
  #timer: NodeJS.Timeout | undefined;
  #longestMs = 0;

  start(): void {
    this.stop();
    let dueMs = performance.now() + SAMPLE_MS;
    const sample = () => {
      const nowMs = performance.now();
      this.#longestMs = Math.max(this.#longestMs, nowMs - dueMs);
      dueMs = nowMs + SAMPLE_MS;
    };
    this.#timer = setInterval(sample, SAMPLE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Since the last reading. */
  takeLongestMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}

/** Ten wake-ups a second: a hundred are a fiftieth of the processor time of a stream. */
const SAMPLE_MS = 100;

/** A rate over less time is noise. */
const MIN_INTERVAL_S = 0.2;
/** `detect` and `source` report once a second while frames arrive. */
const STALE_MS = 3_000;

const round = (value: number): number => Math.round(value * 10) / 10;

/** Frames of a file that were lost at a resume, and those that are left. */
export class FileFrames {
  #fromNs: bigint | null = null;
  #durationNs: bigint | null = null;
  #frameNs: bigint | null = null;
  #framesLost = 0;
  #pipeline: Pick<Pipeline, "duration"> | null = null;

  /** The pipeline is about to play a file from this position. */
  onBuilt(pipeline: Pick<Pipeline, "duration">, fromNs: bigint): void {
    this.#pipeline = pipeline;
    this.#fromNs = fromNs;
  }

  /** Frames between the requested and the actual position. */
  get framesLost(): number {
    return this.#framesLost;
  }

  onFirstFrame({ ptsNs, durationNs }: Pick<TappedBuffer, "ptsNs" | "durationNs">): void {
    if (this.#fromNs === null || this.#pipeline === null) return;
    this.#frameNs = durationNs !== null && durationNs > 0n ? durationNs : null;
    if (this.#fromNs > 0n && ptsNs !== null) this.#framesLost = this.#count(ptsNs - this.#fromNs);
    this.#pipeline.duration().then(
      (durationNs) => {
        this.#durationNs = durationNs;
      },
      () => {},
    );
  }

  /** Empty when the duration or the frame rate is unknown. */
  leftAt(positionNs: bigint): { readonly framesLeft?: number } {
    return this.#durationNs === null || this.#frameNs === null
      ? {}
      : { framesLeft: this.#count(this.#durationNs - positionNs) };
  }

  #count(spanNs: bigint): number {
    return this.#frameNs === null ? 0 : Math.max(0, Math.round(Number(spanNs) / Number(this.#frameNs)));
  }
}

/** Running time without pauses. */
export class RunningTime {
  #totalMs = 0;
  #sinceMs: number | null = null;

  get ms(): number {
    return this.#totalMs + (this.#sinceMs === null ? 0 : performance.now() - this.#sinceMs);
  }

  start(): void {
    this.#sinceMs ??= performance.now();
  }

  stop(): void {
    this.#totalMs = this.ms;
    this.#sinceMs = null;
  }
}

/** Calls `notify` once, with the first (decoded) frame of the graph's source. */
export function onFirstFrame(
  pipeline: Pick<Pipeline, "tap">,
  [origin]: readonly string[],
  notify: (frame: TappedBuffer) => void,
): void {
  if (origin === undefined) return;
  const stop = pipeline.tap(origin, (frame) => {
    stop();
    notify(frame);
  });
}
