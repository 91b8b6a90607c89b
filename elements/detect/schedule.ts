/** Which frames inference runs on: at pace `fast` by number or image, live as many as the model can process. */
import type { Frame } from "../element.ts";
import type { EveryNth } from "./every-nth.ts";
import type { FilledSlot, FrameInference } from "./frame-inference.ts";
import { type Inference, InferenceLost } from "./inference.ts";
import type { Due, MotionGate } from "./motion-gate.ts";
import type { Found } from "./objects.ts";
import type { DetectRequest, Region } from "./request.ts";

export type Every = "auto" | "motion" | number;

/** Or why the frame passes without inference: its image has not changed, or any other reason. */
export type Outcome = Found | "still" | "passed";

export interface Scheduler {
  infer(frame: Frame, request: DetectRequest): Promise<Outcome>;
  /** Frames that were due for inference, but passed without. */
  readonly skipped: number;
  flush(): void;
}

/** Pace `fast`, by frame number. */
export class FastScheduler implements Scheduler {
  readonly skipped = 0;
  readonly #frames: FrameInference;
  readonly #every: number;
  readonly #nth: EveryNth | null;

  /** `nth`: where some frames are not decoded. */
  constructor(frames: FrameInference, every: number, nth: EveryNth | null = null) {
    this.#frames = frames;
    this.#every = every;
    this.#nth = nth;
  }

  async infer(frame: Frame, request: DetectRequest): Promise<Outcome> {
    const isDue = this.#nth?.isDue(frame) ?? frame.index % this.#every === 0;
    return isDue ? this.#frames.infer(frame, request) : "passed";
  }

  flush(): void {}
}

/** Pace `fast`, by image: one frame after the other, so that the same clip gives the same results. */
export class FastMotionScheduler implements Scheduler {
  readonly skipped = 0;
  readonly #frames: FrameInference;
  readonly #gate: MotionGate;
  #last: Promise<unknown> = Promise.resolve();

  constructor(frames: FrameInference, gate: MotionGate) {
    this.#frames = frames;
    this.#gate = gate;
  }

  infer(frame: Frame, request: DetectRequest): Promise<Outcome> {
    const outcome = this.#last.then(() => this.#inferNext(frame, request));
    this.#last = outcome.catch(() => {});
    return outcome;
  }

  flush(): void {
    this.#gate.forget();
  }

  async #inferNext(frame: Frame, request: DetectRequest): Promise<Outcome> {
    const verdict = this.#gate.judge(frame, request.within);
    if (typeof verdict === "string") return verdict;
    const regions = this.#frames.choose(request, verdict.change);
    this.#gate.refer(verdict, request.onlyMoving ? regions : undefined);
    const candidates = await this.#frames.infer(frame, request, regions);
    this.#gate.note(candidates, request.filter);
    return candidates;
  }
}

/** A frame that waits until the model is free or a newer frame replaces it. */
class Candidate {
  choose: (isChosen: boolean) => void = () => {};
  readonly isChosen = new Promise<boolean>((resolve) => {
    this.choose = resolve;
  });
}

/** One inference of a frame. */
interface Work {
  readonly due: Due | null;
  readonly regions: readonly Region[];
  /** The first region. */
  readonly prepared?: Promise<FilledSlot | undefined> | undefined;
}

export class LiveScheduler implements Scheduler {
  readonly #frames: FrameInference;
  readonly #inference: Inference;
  readonly #gate: MotionGate | null;
  readonly #nth: EveryNth | null;
  readonly #schedule: LiveSchedule<Candidate>;
  #lost = 0;

  /** `gate` decides which frames are due with `every: motion`, `nth` with `every: N` where some are not decoded. */
  constructor(
    frames: FrameInference,
    inference: Inference,
    every: Every,
    inferenceMs: number,
    gate: MotionGate | null = null,
    nth: EveryNth | null = null,
  ) {
    this.#frames = frames;
    this.#inference = inference;
    this.#gate = gate;
    this.#nth = nth;
    this.#schedule = new LiveSchedule(every, inferenceMs);
  }

  get skipped(): number {
    return this.#schedule.skipped + this.#lost;
  }

  async infer(frame: Frame, request: DetectRequest): Promise<Outcome> {
    const isDue = this.#nth?.isDue(frame);
    const { fatal, isReady } = this.#inference;
    if (fatal !== null) throw fatal;
    if (!isReady) {
      this.#lost += 1;
      return "passed";
    }
    const verdict = this.#gate?.judge(frame, request.within) ?? null;
    if (typeof verdict === "string") return verdict;
    const regions = this.#frames.choose(request, verdict?.change ?? null);
    const candidate = new Candidate();
    const arrival = this.#schedule.arrive(candidate, performance.now(), isDue);
    if (arrival.action === "pass") return "passed";
    if (arrival.action === "infer") return this.#run(frame, request, { due: verdict, regions });
    arrival.replaces?.choose(false);
    const prepared = arrival.prepare ? this.#prepare(frame, regions) : undefined;
    if (await candidate.isChosen) return this.#run(frame, request, { due: verdict, regions, prepared });
    const filled = await prepared;
    if (filled !== undefined) this.#frames.drop(filled);
    return "passed";
  }

  flush(): void {
    this.#gate?.forget();
    this.#schedule.withdraw()?.choose(false);
  }

  /** Undefined on failure; the next attempt reports the reason. */
  async #prepare(frame: Frame, [first]: readonly Region[]): Promise<FilledSlot | undefined> {
    return first === undefined ? undefined : this.#frames.fill(frame, first).catch(() => undefined);
  }

  async #run(frame: Frame, request: DetectRequest, { due, regions, prepared }: Work): Promise<Outcome> {
    if (due !== null) this.#gate?.refer(due, request.onlyMoving ? regions : undefined);
    try {
      const candidates = await this.#frames.infer(frame, request, regions, await prepared);
      this.#gate?.note(candidates, request.filter);
      return candidates;
    } catch (error) {
      if (!(error instanceof InferenceLost)) throw error;
      this.#lost += 1;
      this.#gate?.forget(); // the next frame is due
      return "passed";
    } finally {
      this.#schedule.finish(performance.now())?.choose(true);
    }
  }
}

type Arrival<F> =
  | { readonly action: "infer" }
  | { readonly action: "pass" }
  /**
   * The frame is the candidate now; `replaces` is the previous one, which passes. `prepare`: fill its tensor now, since
   * the model will probably be free before a newer frame arrives.
   */
  | { readonly action: "wait"; readonly replaces: F | null; readonly prepare: boolean };

/**
 * Schedules one inference at a time. `auto`: while the model is busy, the newest frame is the candidate for the next
 * inference, and the one it replaces passes. `motion`: the same, of the frames that are due. `every: N`: every Nth
 * frame, if the model is free. Pure: `F` identifies a frame, times are passed in.
 */
export class LiveSchedule<F> {
  readonly #every: Every;
  #isBusy = false;
  #candidate: F | null = null;
  #beganMs = 0;
  #inferenceMs: number;
  #arrivedMs: number | null = null;
  #intervalMs = 0;
  #count = 0;
  /** Frames that were due while the model was busy. */
  skipped = 0;

  constructor(every: Every, inferenceMs: number) {
    this.#every = every;
    this.#inferenceMs = inferenceMs;
  }

  /** `isDue`: with `every: N`, instead of counting. */
  arrive(frame: F, nowMs: number, isDue?: boolean): Arrival<F> {
    if (this.#arrivedMs !== null) this.#intervalMs = nowMs - this.#arrivedMs;
    this.#arrivedMs = nowMs;
    const isCounted = typeof this.#every === "string" || this.#count % this.#every === 0;
    this.#count += 1;
    if (!(isDue ?? isCounted)) return { action: "pass" };
    if (!this.#isBusy) {
      this.#begin(nowMs);
      return { action: "infer" };
    }
    if (typeof this.#every === "number") {
      this.skipped += 1;
      return { action: "pass" };
    }
    const replaces = this.#candidate;
    this.#candidate = frame;
    const prepare = this.#beganMs + this.#inferenceMs <= nowMs + this.#intervalMs;
    return { action: "wait", replaces, prepare };
  }

  /** The inference has finished; returns the candidate, if any, whose inference starts now. */
  finish(nowMs: number): F | null {
    this.#inferenceMs = nowMs - this.#beganMs;
    this.#isBusy = false;
    const next = this.withdraw();
    if (next !== null) this.#begin(nowMs);
    return next;
  }

  /** Removes and returns the candidate, which passes. */
  withdraw(): F | null {
    const candidate = this.#candidate;
    this.#candidate = null;
    return candidate;
  }

  #begin(nowMs: number): void {
    this.#isBusy = true;
    this.#beganMs = nowMs;
  }
}
