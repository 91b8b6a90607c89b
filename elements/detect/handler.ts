import type { Model } from "../../models/open.ts";
import type { Detections } from "../../schemas/detections.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { Looker } from "./frame-inference.ts";
import { Inference, type InferenceEvent } from "./inference.ts";
import { chooseInFlight, limitInference, limitStart } from "./limits.ts";
import { describeNothing, describeObjects } from "./objects.ts";
import { listLooks, type Region, readWanted, type Tiles, type WantedProperties, WHOLE } from "./request.ts";
import { type Every, FastPace, LivePace, type Pace, type Question } from "./schedule.ts";

/** One is inferred, one waits for it, one is being filled. */
const SLOTS = 3;

export interface DetectProperties extends WantedProperties {
  readonly every: Every;
  readonly roi?: Region;
  readonly tiles?: Tiles;
  readonly threads: number;
  readonly providers: readonly string[];
  readonly limitMs: number;
}

/** A look may be longer than the trial at the start. */
const LATENCY_MARGIN = 1.5;

export class DetectHandler implements Pick<Handler, "process" | "flush" | "close" | "inFlight" | "latencyMs"> {
  readonly inFlight: number;
  readonly latencyMs: number;
  readonly #model: Model;
  readonly #services: Services;
  readonly #inference: Inference;
  readonly #pace: Pace;
  readonly #readings: Readings;
  #question: Question;
  #nothing: Detections;

  /** Rejects when a property or the model is not what it should be. `worker` begins another worker, in tests. */
  static async create(
    model: Model,
    properties: DetectProperties,
    services: Services,
    worker?: URL,
  ): Promise<DetectHandler> {
    const question = ask(properties, model);
    const { live } = services.job;
    const readings = new Readings(performance.now());
    const inference = await Inference.start({
      model,
      threads: properties.threads,
      providers: properties.providers,
      slots: SLOTS,
      onFailure: live ? "release" : "keep",
      limitMs: (trialMs) =>
        live ? limitInference(properties.limitMs, readings.inferenceMs || trialMs) : properties.limitMs,
      startLimitMs: limitStart(properties.limitMs),
      tell: (event) => tell(event, services),
      ...(worker && { worker }),
    });
    return new DetectHandler(model, properties, services, inference, readings, question);
  }

  private constructor(
    model: Model,
    { every }: DetectProperties,
    services: Services,
    inference: Inference,
    readings: Readings,
    question: Question,
  ) {
    this.#model = model;
    this.#services = services;
    this.#inference = inference;
    this.#readings = readings;
    this.#question = question;
    this.#nothing = describeNothing(question.wanted, model.card.model);
    const { live } = services.job;
    const looker = new Looker(inference, model);
    const lookMs = inference.inferenceMs * question.regions.length;
    this.#pace = live ? new LivePace(looker, inference, every, lookMs) : new FastPace(looker, every);
    this.inFlight = chooseInFlight(live, every, SLOTS);
    this.latencyMs = live ? LATENCY_MARGIN * lookMs : 0;
  }

  async process(frame: Frame): Promise<void> {
    const arrivedMs = performance.now();
    const question = this.#question;
    const nothing = this.#nothing;
    try {
      const candidates = await this.#pace.look(frame, question);
      if (candidates === null) {
        this.#readings.passed();
        frame.write({ detections: nothing });
      } else {
        const { card, labels } = this.#model;
        this.#readings.looked(this.#inference.inferenceMs, performance.now() - arrivedMs);
        const { within, wanted } = question;
        frame.write({ detections: describeObjects(candidates, frame.format, within, wanted, card.model, labels) });
      }
    } catch (error) {
      // A frame discarded by a stop or a seek is nobody's failure.
      if (!frame.signal.aborted) throw error;
    }
    this.#report();
  }

  update(properties: DetectProperties): void {
    this.#question = ask(properties, this.#model);
    this.#nothing = describeNothing(this.#question.wanted, this.#model.card.model);
  }

  flush(): void {
    this.#pace.flush();
  }

  close(): Promise<void> {
    return this.#inference.close();
  }

  #report(): void {
    const reading = this.#readings.read(performance.now(), this.#pace.skipped);
    if (reading !== null) this.#services.emit({ type: "stats", ...reading });
  }
}

const ask = (properties: DetectProperties, model: Model): Question => ({
  regions: listLooks(properties.roi ?? null, properties.tiles ?? null),
  within: properties.roi ?? WHOLE,
  wanted: readWanted(properties, model),
});

function tell(event: InferenceEvent, { log, emit }: Services): void {
  if (event.state === "recovered") {
    log.info("inference works again", { failures: event.failures });
    emit({ type: "inference", state: "recovered", failures: event.failures });
    return;
  }
  if (event.state === "left-behind") {
    log.warn("an inference thread is stuck in native code and was left behind with its memory", {
      threads: event.threads,
    });
    emit({ type: "inference", state: "left-behind", threads: event.threads });
    return;
  }
  if (event.state === "warned") {
    log.warn(event.reason);
    return;
  }
  const { reason, failures, retryInMs } = event;
  if (retryInMs !== null) log.warn("inference failed, a new worker is started", { reason, failures });
  emit({ type: "inference", state: "failed", reason, failures, retry_in_ms: retryInMs });
}

/** How detection goes, told about once a second. */
const EVERY_MS = 1000;
const KEPT = 256;

export interface Reading {
  readonly [key: string]: number;
  /** Medians over the last ones; 0 before the first. */
  readonly inference_ms: number;
  readonly latency_ms: number;
  /** Since the last reading. */
  readonly inferred_per_second: number;
  /** Since the start. */
  readonly frames: number;
  readonly inferred: number;
  readonly skipped: number;
}

export class Readings {
  readonly #inferenceMs: number[] = [];
  readonly #latencyMs: number[] = [];
  #frames = 0;
  #inferred = 0;
  #toldMs: number;
  #toldInferred = 0;

  constructor(nowMs: number) {
    this.#toldMs = nowMs;
  }

  /** Of one inference, over the last of them. */
  get inferenceMs(): number {
    return median(this.#inferenceMs);
  }

  passed(): void {
    this.#frames += 1;
  }

  looked(inferenceMs: number, latencyMs: number): void {
    this.#frames += 1;
    this.#inferred += 1;
    keep(this.#inferenceMs, inferenceMs);
    keep(this.#latencyMs, latencyMs);
  }

  /** Null when the last one was told less than a second ago. */
  read(nowMs: number, skipped: number): Reading | null {
    const sinceMs = nowMs - this.#toldMs;
    if (sinceMs < EVERY_MS) return null;
    const inferredPerSecond = ((this.#inferred - this.#toldInferred) * 1000) / sinceMs;
    this.#toldMs = nowMs;
    this.#toldInferred = this.#inferred;
    return {
      inference_ms: round(this.inferenceMs),
      latency_ms: round(median(this.#latencyMs)),
      inferred_per_second: round(inferredPerSecond),
      frames: this.#frames,
      inferred: this.#inferred,
      skipped,
    };
  }
}

function keep(list: number[], value: number): void {
  list.push(value);
  if (list.length > KEPT) list.shift();
}

function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const round = (value: number): number => Math.round(value * 10) / 10;
