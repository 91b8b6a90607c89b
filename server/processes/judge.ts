/** What follows from the end of a run: the end of the process, or another run after a while. */

import { backoff } from "../async/timing.ts";
import type { ProcessError } from "./processes.ts";
import { planRestart, type RestartRule } from "./restart.ts";
import type { RunEnd } from "./run.ts";

export type Verdict =
  | { readonly state: "finished" | "failed"; readonly error: ProcessError | null }
  | { readonly waitMs: number; readonly isCrash: boolean };

export interface Circumstances {
  readonly isFile: boolean;
  /** The source's data came in that run. */
  readonly hasFlowed: boolean;
  readonly nowMs: number;
  /** From 0 to 1. */
  readonly random: number;
}

export class Judge {
  readonly #rule: RestartRule;
  readonly #giveUpMs: number;
  readonly #crashesMs: number[] = [];
  /** Since when a live source could not be had, over several runs. */
  #lostSinceMs: number | null = null;
  #attempts = 0;

  constructor(rule: RestartRule, giveUpMs: number) {
    this.#rule = rule;
    this.#giveUpMs = giveUpMs;
  }

  /** The source's data has come. */
  noteFlowing(): void {
    this.#lostSinceMs = null;
    this.#attempts = 0;
  }

  /** For how long a live source is still waited for. */
  patienceMs(nowMs: number): number {
    return this.#giveUpMs - (this.#lostSinceMs === null ? 0 : nowMs - this.#lostSinceMs);
  }

  judge(end: RunEnd, circumstances: Circumstances): Verdict {
    if (end.kind === "finished" || end.kind === "stopped") return { state: "finished", error: null };
    if (end.kind === "graph") return fail("pipeline_failed", end.detail);
    return end.kind === "source"
      ? this.#judgeSource(end.detail, circumstances)
      : this.#judgeCrash(end.detail, circumstances);
  }

  /** A runner gives up a source that it had only after trying long enough; one that it never had is tried again as long. */
  #judgeSource(detail: string, { isFile, hasFlowed, nowMs, random }: Circumstances): Verdict {
    if (isFile) return fail("pipeline_failed", detail);
    this.#lostSinceMs ??= nowMs;
    if (hasFlowed || this.patienceMs(nowMs) <= 0) return fail("source_not_live", detail);
    return { waitMs: backoff(++this.#attempts, this.#rule, random), isCrash: false };
  }

  #judgeCrash(detail: string, { nowMs, random }: Circumstances): Verdict {
    const { restarts, windowMs } = this.#rule;
    this.#crashesMs.push(nowMs);
    const waitMs = planRestart(this.#crashesMs, this.#rule, random);
    if (this.#crashesMs.length > restarts) this.#crashesMs.shift();
    if (waitMs !== null) return { waitMs, isCrash: true };
    const often = restarts === 0 ? "it crashed" : `it crashed more than ${restarts} times within ${windowMs / 1000} s`;
    return fail("pipeline_failed", `${often}; the last time: ${detail}`);
  }
}

const fail = (code: string, detail: string): Verdict => ({ state: "failed", error: { code, detail } });
