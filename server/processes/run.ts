/**
 * One life of a process in one runner, from `start` until the runner is gone. Owns the runner. One that says nothing for
 * too long or grows too large is ended; that is a crash like any other.
 */

import { Deadline } from "../../ipc/deadline.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import { describeExit, type Runner, type RunnerOrder, RunnerRefusal, type RunnerReport } from "./runner.ts";

/** Why it does not run any more. `source`: nothing comes in; `graph`: it does not compile; `crash`: worth another try. */
export type RunEnd =
  | { readonly kind: "finished" }
  | { readonly kind: "stopped" }
  | ({ readonly kind: "source" | "graph" | "crash" } & RunFault);

export interface RunFault {
  readonly detail: string;
  /** The author's name of the node that failed, where it is known. */
  readonly node?: string;
  /** Where in the sources an element threw. */
  readonly trace?: readonly string[];
}

export interface RunLimits {
  readonly stopMs: number;
  /** A running runner reports every second. */
  readonly silentMs: number;
}

export class Run {
  /** Settles once the runner is gone; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Resolves with the first data of the source; stays pending when none ever comes. */
  readonly flowing: Promise<void>;
  /** Resolves when the graph plays, whether anything comes in or not; stays pending when it never does. */
  readonly playing: Promise<void>;
  readonly #runner: Runner;
  readonly #limits: RunLimits;
  readonly #onReport: (report: RunnerReport) => void;
  /** What the runner said of its end, before it went. */
  #verdict: RunEnd | null = null;
  #isStopping = false;
  #flow: () => void = () => {};
  #watchdog: Deadline | undefined;
  #farewell: NodeJS.Timeout | undefined;

  constructor(runner: Runner, job: RunnerJob, limits: RunLimits, onReport: (report: RunnerReport) => void) {
    this.#runner = runner;
    this.#limits = limits;
    this.#onReport = onReport;
    this.flowing = new Promise((resolve) => {
      this.#flow = resolve;
    });
    let play = (): void => {};
    this.playing = new Promise((resolve) => {
      play = resolve;
    });
    this.ended = this.#awaitEnd();
    runner.listen((report) => this.#hear(report));
    // Whoever started it sets the limit of its start, by ending it.
    runner.request({ type: "start", job }, LONGEST_MS).then(play, (error: Error) => this.#failStart(error));
  }

  get pid(): number | undefined {
    return this.#runner.pid;
  }

  /** Rejects with `RunnerRefusal` or `RunnerSilence`. */
  request(order: RunnerOrder): Promise<unknown> {
    return this.#runner.request(order);
  }

  /** Clean within the limit, or else killed. Resolves when it is gone. */
  async stop(): Promise<RunEnd> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#leaveWithin("it did not stop in time");
      this.#runner.request({ type: "stop" }, LONGEST_MS).catch(() => {});
    }
    return this.ended;
  }

  /** At once. A crash, unless it was stopped. */
  kill(reason: string): void {
    this.#runner.kill(reason);
  }

  #hear(report: RunnerReport): void {
    if (report.type === "flowing") this.#flow();
    if (report.type === "state") this.#enter(report);
    this.#watchdog?.refresh();
    this.#onReport(report);
  }

  #enter({ state, failure }: RunnerReport & { type: "state" }): void {
    if (state === "running") this.#watch();
    else this.#unwatch();
    if (state === "finished") this.#conclude({ kind: "finished" });
    if (state === "failed") {
      const { kind, ...fault } = failure ?? { kind: "pipeline" as const, detail: "the runner did not say why" };
      this.#conclude({ kind: kind === "pipeline" ? "crash" : kind, ...fault });
    }
  }

  /** It goes by itself now. */
  #conclude(verdict: RunEnd): void {
    this.#verdict ??= verdict;
    this.#leaveWithin("it did not end by itself");
  }

  #failStart(error: Error): void {
    if (!(error instanceof RunnerRefusal)) return;
    const isOurs = error.kind === "source" || error.kind === "graph";
    this.#conclude({ kind: isOurs ? (error.kind as "source" | "graph") : "crash", detail: error.message });
  }

  #watch(): void {
    const { silentMs } = this.#limits;
    this.#watchdog ??= new Deadline(silentMs, () => this.kill(`it said nothing for ${silentMs / 1000} s`));
  }

  #unwatch(): void {
    this.#watchdog?.close();
    this.#watchdog = undefined;
  }

  #leaveWithin(reason: string): void {
    this.#farewell ??= setTimeout(() => this.kill(reason), this.#limits.stopMs);
  }

  async #awaitEnd(): Promise<RunEnd> {
    const exit = await this.#runner.gone;
    this.#unwatch();
    clearTimeout(this.#farewell);
    if (this.#verdict?.kind === "finished" || !this.#isStopping)
      return this.#verdict ?? { kind: "crash", detail: describeExit(exit) };
    return { kind: "stopped" };
  }
}

/** As long as a timer can be: others end what takes longer. */
const LONGEST_MS = 2 ** 31 - 1;
