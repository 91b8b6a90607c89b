/** Writes `detections` to every frame, and reports statistics and failures of inference. */
import type { Model } from "../../models/open.ts";
import type { Detections } from "../../schemas/detections.ts";
import type { Frame, Handler, Services, TracedWork } from "../element.ts";
import { EveryNth } from "./every-nth.ts";
import { FrameInference } from "./frame-inference.ts";
import { Inference, type InferenceEvent } from "./inference.ts";
import { chooseInFlight, limitBlocked, limitInference, limitStart } from "./limits.ts";
import { type GateProperties, MotionGate } from "./motion-gate.ts";
import { describeNothing, describeObjects } from "./objects.ts";
import { type DetectRequest, makeRequest, type RequestProperties } from "./request.ts";
import { type Every, FastMotionScheduler, FastScheduler, LiveScheduler, type Scheduler } from "./schedule.ts";
import { openSpare } from "./spare-thread.ts";
import type { InferenceTime } from "./worker/messages.ts";

/** One in inference, one waiting for it, one being filled. */
const SLOTS = 3;
/** Inference may take longer than the trial at the start. */
const LATENCY_MARGIN = 1.5;

interface DetectProperties extends RequestProperties, GateProperties {
  readonly every: Every;
  readonly threads: number;
  readonly providers: readonly string[];
  readonly limitMs: number;
}

/** Of the properties that a thread depends on. */
const DEFAULTS = { threads: 1, providers: ["cpu"], limitMs: 5000 } as const;

/** Opens the model for the first handler with default properties. The result closes it, unless it is used. */
export const warmUp = (model: Model): (() => Promise<void>) =>
  openSpare({ ...DEFAULTS, model, slots: SLOTS, startLimitMs: limitStart(DEFAULTS.limitMs) });

export class DetectHandler implements Pick<Handler, "process" | "flush" | "close" | "inFlight" | "latencyMs"> {
  readonly inFlight: number;
  readonly latencyMs: number;
  readonly #model: Model;
  readonly #services: Services;
  readonly #inference: Inference;
  readonly #scheduler: Scheduler;
  readonly #stats: DetectStats;
  #properties: DetectProperties;
  #request: DetectRequest;
  /** Of the last frame. */
  #size: Pick<Frame["format"], "width" | "height"> | undefined;
  #nothing: Detections;
  #still: Detections;

  /** Rejects for an invalid property or model. `worker` replaces the worker module, in tests. */
  static async create(
    model: Model,
    properties: DetectProperties,
    services: Services,
    worker?: URL,
  ): Promise<DetectHandler> {
    const request = makeRequest(properties, model);
    if (request.onlyMoving && properties.every !== "motion")
      throw new Error(`moving tiles need every: motion, and every is ${properties.every}: change one of them`);
    const { live } = services.job;
    const stats = new DetectStats(performance.now());
    const { limitMs, providers } = properties;
    const threads = properties.threads === 1 ? (model.threads ?? 1) : properties.threads;
    const computesAlone = threads === 1 && providers.every((name) => name === "cpu");
    const usual = (trialMs: number): number => stats.inferenceMs || trialMs;
    const inference = await Inference.start({
      model,
      ...{ threads, providers },
      slots: SLOTS,
      onFailure: live ? "release" : "keep",
      limitMs: (trialMs) => (live ? limitInference(limitMs, usual(trialMs)) : limitMs),
      ...(live && { blockedMs: (trialMs: number) => limitBlocked(limitMs, usual(trialMs), computesAlone) }),
      startLimitMs: limitStart(limitMs),
      onEvent: (event) => report(event, services),
      onRetired: () => services.releaseMemory?.(),
      ...(services.trace && { onInferred: (ptsNs, time) => services.trace?.(describeWork(ptsNs, time)) }),
      ...(worker && { worker }),
    });
    return new DetectHandler(model, properties, services, inference, stats, request);
  }

  private constructor(
    model: Model,
    properties: DetectProperties,
    services: Services,
    inference: Inference,
    stats: DetectStats,
    request: DetectRequest,
  ) {
    this.#model = model;
    this.#services = services;
    this.#inference = inference;
    this.#stats = stats;
    this.#properties = properties;
    this.#request = request;
    this.#nothing = describeNothing(request.filter, model.card.model);
    this.#still = describeNothing(request.filter, model.card.model, true);
    const { live } = services.job;
    const { every } = properties;
    const frames = new FrameInference(inference, model);
    const frameMs = inference.inferenceMs * request.regions.length;
    const gate = every === "motion" ? new MotionGate(properties) : null;
    const nth = services.job.skipsFrames && typeof every === "number" ? new EveryNth(every) : null;
    if (live) this.#scheduler = new LiveScheduler(frames, inference, every, frameMs, gate, nth);
    else if (gate !== null) this.#scheduler = new FastMotionScheduler(frames, gate);
    else this.#scheduler = new FastScheduler(frames, typeof every === "number" ? every : 1, nth);
    this.inFlight = chooseInFlight(live, every, SLOTS);
    this.latencyMs = live ? LATENCY_MARGIN * frameMs : 0;
  }

  async process(frame: Frame): Promise<void> {
    const arrivedMs = performance.now();
    const request = this.#requestFor(frame.format);
    const passed = { passed: this.#nothing, still: this.#still };
    try {
      const outcome = await this.#scheduler.infer(frame, request);
      if (typeof outcome === "string") {
        this.#stats.countPassed(outcome);
        frame.write({ detections: passed[outcome] });
      } else {
        const { card, labels } = this.#model;
        this.#stats.countInferred(this.#inference.inferenceMs, performance.now() - arrivedMs);
        frame.write({ detections: describeObjects(outcome, frame.format, request, card.model, labels) });
      }
    } catch (error) {
      // A frame discarded by a stop or a seek is not a failure.
      if (!frame.signal.aborted) throw error;
    }
    const stats = this.#stats.read(performance.now(), this.#scheduler.skipped);
    if (stats !== null) this.#services.emit({ type: "stats", ...stats });
  }

  /** Some regions depend on the size of the frame. */
  #requestFor({ width, height }: Frame["format"]): DetectRequest {
    if (this.#size?.width !== width || this.#size.height !== height) {
      this.#size = { width, height };
      this.#request = makeRequest(this.#properties, this.#model, this.#size);
    }
    return this.#request;
  }

  update(properties: DetectProperties): void {
    this.#properties = properties;
    this.#request = makeRequest(properties, this.#model, this.#size);
    this.#nothing = describeNothing(this.#request.filter, this.#model.card.model);
    this.#still = describeNothing(this.#request.filter, this.#model.card.model, true);
  }

  flush(): void {
    this.#scheduler.flush();
  }

  close(): Promise<void> {
    return this.#inference.close();
  }
}

const describeWork = (ptsNs: bigint | null, { startedNs, inferenceMs }: InferenceTime): TracedWork => ({
  thread: "inference",
  ptsNs,
  fromNs: startedNs,
  toNs: startedNs + BigInt(Math.round(inferenceMs * 1e6)),
});

function report(event: InferenceEvent, { log, emit }: Services): void {
  if (event.state === "warned") {
    log.warn(event.reason);
  } else if (event.state === "recovered") {
    log.info("inference recovered", { failures: event.failures });
    emit({ type: "inference", ...event });
  } else if (event.state === "left-behind") {
    log.warn("inference thread stuck in native code and abandoned with its memory", { threads: event.threads });
    emit({ type: "inference", ...event });
  } else {
    const { reason, failures, retryInMs } = event;
    if (retryInMs !== null) log.warn("inference failed, restarting the worker", { reason, failures });
    emit({ type: "inference", state: "failed", reason, failures, retry_in_ms: retryInMs });
  }
}

const REPORT_EVERY_MS = 1000;
/** Values in a median. */
const WINDOW = 256;

/** Statistics of detection, reported about once per second. */
export class DetectStats {
  readonly #inferenceMs: number[] = [];
  readonly #latencyMs: number[] = [];
  #frames = 0;
  #inferred = 0;
  #still = 0;
  #reportedMs: number;
  #reportedInferred = 0;

  constructor(nowMs: number) {
    this.#reportedMs = nowMs;
  }

  /** Median of the last inferences; 0 before the first. */
  get inferenceMs(): number {
    return median(this.#inferenceMs);
  }

  countPassed(reason: "passed" | "still" = "passed"): void {
    this.#frames += 1;
    if (reason === "still") this.#still += 1;
  }

  countInferred(inferenceMs: number, latencyMs: number): void {
    this.#frames += 1;
    this.#inferred += 1;
    keep(this.#inferenceMs, inferenceMs);
    keep(this.#latencyMs, latencyMs);
  }

  /** Null within a second of the last report. Rates are since that report, counts since the start. */
  read(nowMs: number, skipped: number) {
    const sinceMs = nowMs - this.#reportedMs;
    if (sinceMs < REPORT_EVERY_MS) return null;
    const inferredPerSecond = ((this.#inferred - this.#reportedInferred) * 1000) / sinceMs;
    this.#reportedMs = nowMs;
    this.#reportedInferred = this.#inferred;
    return {
      inference_ms: round(this.inferenceMs),
      latency_ms: round(median(this.#latencyMs)),
      inferred_per_second: round(inferredPerSecond),
      frames: this.#frames,
      inferred: this.#inferred,
      still: this.#still,
      skipped,
    };
  }
}

function keep(list: number[], value: number): void {
  list.push(value);
  if (list.length > WINDOW) list.shift();
}

function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const round = (value: number): number => Math.round(value * 10) / 10;
