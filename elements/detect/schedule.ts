/** Which frames inference runs on: at pace `fast` by frame number, live as many as the model can process. */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Frame } from "../element.ts";
import type { FilledSlot, FrameInference } from "./frame-inference.ts";
import { type Inference, InferenceLost } from "./inference.ts";
import type { DetectRequest } from "./request.ts";

export type Every = "auto" | number;

export interface Scheduler {
  /** Null: the frame passes without inference. */
  infer(frame: Frame, request: DetectRequest): Promise<Candidates | null>;
  /** Frames that were due for inference, but passed without. */
  readonly skipped: number;
  flush(): void;
}

/** Pace `fast`: depends only on the frame number. */
export class FastScheduler implements Scheduler {
  readonly skipped = 0;
  readonly #frames: FrameInference;
  readonly #every: number;

  constructor(frames: FrameInference, every: Every) {
    this.#frames = frames;
    this.#every = every === "auto" ? 1 : every;
  }

  async infer(frame: Frame, request: DetectRequest): Promise<Candidates | null> {
    return frame.index % this.#every === 0 ? this.#frames.infer(frame, request) : null;
  }

  flush(): void {}
}

/** A frame that waits until the model is free or a newer frame replaces it. */
class Candidate {
  choose: (isChosen: boolean) => void = () => {};
  readonly isChosen = new Promise<boolean>((resolve) => {
    this.choose = resolve;
  });
}

export class LiveScheduler implements Scheduler {
  readonly #frames: FrameInference;
  readonly #inference: Inference;
  readonly #schedule: LiveSchedule<Candidate>;
  #lost = 0;

  constructor(frames: FrameInference, inference: Inference, every: Every, inferenceMs: number) {
    this.#frames = frames;
    this.#inference = inference;
    this.#schedule = new LiveSchedule(every, inferenceMs);
  }

  get skipped(): number {
    return this.#schedule.skipped + this.#lost;
  }

  async infer(frame: Frame, request: DetectRequest): Promise<Candidates | null> {
    const { fatal, isReady } = this.#inference;
    if (fatal !== null) throw fatal;
    if (!isReady) {
      this.#lost += 1;
      return null;
    }
    const candidate = new Candidate();
    const arrival = this.#schedule.arrive(candidate, performance.now());
    if (arrival.action === "pass") return null;
    if (arrival.action === "infer") return this.#run(frame, request, undefined);
    arrival.replaces?.choose(false);
    const prepared = arrival.prepare ? this.#prepare(frame, request) : undefined;
    if (await candidate.isChosen) return this.#run(frame, request, prepared);
    const filled = await prepared;
    if (filled !== undefined) this.#frames.drop(filled);
    return null;
  }

  flush(): void {
    this.#schedule.withdraw()?.choose(false);
  }

  /** Undefined on failure; the next attempt reports the reason. */
  async #prepare(frame: Frame, { regions: [first] }: DetectRequest): Promise<FilledSlot | undefined> {
    return first === undefined ? undefined : this.#frames.fill(frame, first).catch(() => undefined);
  }

  async #run(
    frame: Frame,
    request: DetectRequest,
    prepared: Promise<FilledSlot | undefined> | undefined,
  ): Promise<Candidates | null> {
    try {
      return await this.#frames.infer(frame, request, await prepared);
    } catch (error) {
      if (!(error instanceof InferenceLost)) throw error;
      this.#lost += 1;
      return null;
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
 * inference, and the one it replaces passes. `every: N`: every Nth frame, if the model is free. Pure: `F` identifies a
 * frame, times are passed in.
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

  arrive(frame: F, nowMs: number): Arrival<F> {
    if (this.#arrivedMs !== null) this.#intervalMs = nowMs - this.#arrivedMs;
    this.#arrivedMs = nowMs;
    const isDue = this.#every === "auto" || this.#count % this.#every === 0;
    this.#count += 1;
    if (!isDue) return { action: "pass" };
    if (!this.#isBusy) {
      this.#begin(nowMs);
      return { action: "infer" };
    }
    if (this.#every !== "auto") {
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
