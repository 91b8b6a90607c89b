import type { Candidates } from "../../models/decode/decoder.ts";
import type { Frame } from "../element.ts";
import type { Filled, Looker } from "./frame-inference.ts";
import { type Inference, InferenceLost } from "./inference.ts";
import type { Region, Wanted } from "./request.ts";

/** When frames are looked at: all of them in turn where time does not count, as often as the model can where it does. */
/** What is asked of a frame when it arrives. */
export interface Question {
  readonly regions: readonly Region[];
  /** All that they cover. */
  readonly within: Region;
  readonly wanted: Wanted;
}

export interface Pace {
  /** Null: the frame passes without a look. */
  look(frame: Frame, question: Question): Promise<Candidates | null>;
  /** Frames that were to be looked at and passed instead. */
  readonly skipped: number;
  flush(): void;
}

/** Pace `fast`: which frames are looked at depends on nothing but their number. */
export class FastPace implements Pace {
  readonly skipped = 0;
  readonly #looker: Looker;
  readonly #every: number;

  constructor(looker: Looker, every: Every) {
    this.#looker = looker;
    this.#every = every === "auto" ? 1 : every;
  }

  async look(frame: Frame, { regions, wanted }: Question): Promise<Candidates | null> {
    return frame.index % this.#every === 0 ? this.#looker.look(frame, regions, wanted) : null;
  }

  flush(): void {}
}

/** A candidate waits for its turn or for a newer one. */
class Candidate {
  readonly isChosen: Promise<boolean>;
  choose: (isChosen: boolean) => void = () => {};

  constructor() {
    this.isChosen = new Promise((resolve) => {
      this.choose = resolve;
    });
  }
}

export class LivePace implements Pace {
  readonly #looker: Looker;
  readonly #inference: Inference;
  readonly #schedule: LiveSchedule<Candidate>;
  #lost = 0;

  constructor(looker: Looker, inference: Inference, every: Every, lookMs: number) {
    this.#looker = looker;
    this.#inference = inference;
    this.#schedule = new LiveSchedule(every, lookMs);
  }

  get skipped(): number {
    return this.#schedule.skipped + this.#lost;
  }

  async look(frame: Frame, question: Question): Promise<Candidates | null> {
    const { fatal, isReady } = this.#inference;
    if (fatal !== null) throw fatal;
    if (!isReady) {
      this.#lost += 1;
      return null;
    }
    const candidate = new Candidate();
    const arrival = this.#schedule.arrive(candidate, performance.now());
    if (arrival.verdict === "pass") return null;
    if (arrival.verdict === "look") return this.#take(frame, question, undefined);
    arrival.replaces?.choose(false);
    const prepared = arrival.prepare ? this.#prepare(frame, question) : undefined;
    if (await candidate.isChosen) return this.#take(frame, question, prepared);
    const filled = await prepared;
    if (filled !== undefined) this.#looker.drop(filled);
    return null;
  }

  flush(): void {
    this.#schedule.withdraw()?.choose(false);
  }

  /** Undefined when it could not be done; doing it again will tell why. */
  async #prepare(frame: Frame, { regions: [first] }: Question): Promise<Filled | undefined> {
    return first === undefined ? undefined : this.#looker.fill(frame, first).catch(() => undefined);
  }

  async #take(
    frame: Frame,
    { regions, wanted }: Question,
    prepared: Promise<Filled | undefined> | undefined,
  ): Promise<Candidates | null> {
    try {
      return await this.#looker.look(frame, regions, wanted, await prepared);
    } catch (error) {
      if (!(error instanceof InferenceLost)) throw error;
      this.#lost += 1;
      return null;
    } finally {
      this.#schedule.finish(performance.now())?.choose(true);
    }
  }
}

/**
 * Which frames of a live stream are looked at. Pure: frames are whatever the caller calls one, times are handed in.
 *
 * One frame is looked at at a time. `auto`: while that goes on, the newest frame that has come is the candidate for the
 * next look; the one it takes the place of passes. `every: N`: every Nth is looked at if nothing else is just then.
 */
export type Every = "auto" | number;

export type Arrival<F> =
  /** Look at it now. */
  | { readonly verdict: "look" }
  | { readonly verdict: "pass" }
  /**
   * It is the candidate now and `replaces` another, which passes. `prepare`: its tensor will probably be wanted before
   * a newer frame comes.
   */
  | { readonly verdict: "wait"; readonly replaces: F | null; readonly prepare: boolean };

export class LiveSchedule<F> {
  readonly #every: Every;
  #isBusy = false;
  #candidate: F | null = null;
  #beganMs = 0;
  #lookMs: number;
  #arrivedMs: number | null = null;
  #intervalMs = 0;
  #count = 0;
  #skipped = 0;

  constructor(every: Every, lookMs: number) {
    this.#every = every;
    this.#lookMs = lookMs;
  }

  /** Frames whose turn it was while the model was still busy. */
  get skipped(): number {
    return this.#skipped;
  }

  arrive(frame: F, nowMs: number): Arrival<F> {
    if (this.#arrivedMs !== null) this.#intervalMs = nowMs - this.#arrivedMs;
    this.#arrivedMs = nowMs;
    const isDue = this.#every === "auto" || this.#count % this.#every === 0;
    this.#count += 1;
    if (!isDue) return { verdict: "pass" };
    if (!this.#isBusy) {
      this.#begin(nowMs);
      return { verdict: "look" };
    }
    if (this.#every !== "auto") {
      this.#skipped += 1;
      return { verdict: "pass" };
    }
    const replaces = this.#candidate;
    this.#candidate = frame;
    const prepare = this.#beganMs + this.#lookMs <= nowMs + this.#intervalMs;
    return { verdict: "wait", replaces, prepare };
  }

  /** The look that was begun has come to its end; the candidate, if there is one, is looked at next. */
  finish(nowMs: number): F | null {
    this.#lookMs = nowMs - this.#beganMs;
    this.#isBusy = false;
    const next = this.#candidate;
    this.#candidate = null;
    if (next !== null) this.#begin(nowMs);
    return next;
  }

  /** There is no candidate any more; the one there was, which passes. */
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
