/** What follows the end of a runner: the end of the process, or another runner after a delay. Pure. */
import { type BackoffRule, backoff } from "../async/timing.ts";
import type { ProcessError } from "./processes.ts";

/** Why a runner ended. `source`: no input; `graph`: it does not compile; `crash`: a restart may help. */
export type RunEnd =
  | { readonly kind: "finished" }
  | { readonly kind: "stopped" }
  | ({ readonly kind: "source" | "graph" | "crash" } & RunFault);

export interface RunFault {
  readonly detail: string;
  /** The author's name of the node that failed, when known. */
  readonly node?: string;
  /** Where in the sources an element threw. */
  readonly trace?: readonly string[];
}

export interface RestartRule extends BackoffRule {
  /** Up to this many restarts within the window; the next crash ends the process. */
  readonly restarts: number;
  readonly windowMs: number;
}

export type Decision =
  | { readonly event: "finish" | "fail"; readonly error: ProcessError | null }
  | { readonly waitMs: number; readonly isCrash: boolean };

export interface RunFacts {
  readonly isFile: boolean;
  /** The runner decoded at least one frame. */
  readonly hasFlowed: boolean;
  readonly nowMs: number;
  /** From 0 to 1: jitter, so that runners that crashed together do not restart together. */
  readonly random: number;
}

export class RestartPolicy {
  readonly #rule: RestartRule;
  readonly #giveUpMs: number;
  readonly #crashesMs: number[] = [];
  /** Since when a live source has been unreachable, over several runners. */
  #lostSinceMs: number | null = null;
  #attempts = 0;

  constructor(rule: RestartRule, giveUpMs: number) {
    this.#rule = rule;
    this.#giveUpMs = giveUpMs;
  }

  noteFlowing(): void {
    this.#lostSinceMs = null;
    this.#attempts = 0;
  }

  /** How long a live source is still waited for. */
  sourceWaitMs(nowMs: number): number {
    return this.#giveUpMs - (this.#lostSinceMs === null ? 0 : nowMs - this.#lostSinceMs);
  }

  decide(end: RunEnd, facts: RunFacts): Decision {
    if (end.kind === "finished" || end.kind === "stopped") return { event: "finish", error: null };
    if (end.kind === "graph") return fail("pipeline_failed", end.detail);
    return end.kind === "source" ? this.#decideOnSource(end.detail, facts) : this.#decideOnCrash(end.detail, facts);
  }

  /** A runner retries a source that it had by itself, for the whole time; one that it never had is retried here. */
  #decideOnSource(detail: string, { isFile, hasFlowed, nowMs, random }: RunFacts): Decision {
    if (isFile) return fail("pipeline_failed", detail);
    this.#lostSinceMs ??= nowMs;
    if (hasFlowed || this.sourceWaitMs(nowMs) <= 0) return fail("source_not_live", detail);
    this.#attempts += 1;
    return { waitMs: backoff(this.#attempts, this.#rule, random), isCrash: false };
  }

  #decideOnCrash(detail: string, { nowMs, random }: RunFacts): Decision {
    const { restarts, windowMs } = this.#rule;
    this.#crashesMs.push(nowMs);
    const recent = this.#crashesMs.filter((crashMs) => nowMs - crashMs < windowMs).length;
    if (this.#crashesMs.length > restarts) this.#crashesMs.shift();
    if (recent <= restarts) return { waitMs: backoff(recent, this.#rule, random), isCrash: true };
    const often = restarts === 0 ? "it crashed" : `it crashed more than ${restarts} times within ${windowMs / 1000} s`;
    return fail("pipeline_failed", `${often}; the last time: ${detail}`);
  }
}

const fail = (code: string, detail: string): Decision => ({ event: "fail", error: { code, detail } });
