/**
 * The life of a process on this node, as tables and decisions. Pure. Its states and the events that change them: an event
 * that the table does not list for the current state is rejected and changes nothing. Then what follows the end of a runner:
 * the end of the process, or another runner after a delay.
 */
import { type BackoffRule, backoff } from "../async/timing.ts";
import type { ProcessError, ProcessState } from "./processes.ts";

export type LifecycleState =
  /** The first launch; no client has received its uuid. */
  | "starting"
  /** It has run before, here or on another node; a runner is awaited or being launched. */
  | "restarting"
  /** Its live source is offline: no runner, or one that is being launched because the source may be there. */
  | "waiting"
  | "running"
  | "paused"
  /** A client, a limit or its end time stops it; the runner shuts down. */
  | "stopping"
  /** The server shuts down: the runner ends, and the next server resumes the process. */
  | "halting"
  /** Another node owns the process: the runner is killed and nothing is stored. */
  | "lost"
  | "finished"
  | "failed"
  /** The first launch failed: the row is deleted. */
  | "withdrawn"
  /** It continues on another node, or with the next server. */
  | "released";

export type LifecycleEvent =
  /** Frames flow, or a client resumes it. */
  | "play"
  | "pause"
  /** Its source is offline, and it has been started to wait for it. */
  | "wait"
  /** The runner has ended and another one follows. */
  | "restart"
  | "stop"
  | "halt"
  | "lose"
  | "finish"
  | "fail"
  | "withdraw"
  /** No runner is left after `halt` or `lose`. */
  | "release";

const INTERRUPTIONS = { stop: "stopping", halt: "halting", lose: "lost" } as const;
const ENDS = { finish: "finished", fail: "failed" } as const;

export const TRANSITIONS: Readonly<Record<LifecycleState, Readonly<Partial<Record<LifecycleEvent, LifecycleState>>>>> =
  {
    // `restart` and the ends: the first runner ended after its first frame, before it was set up.
    starting: {
      ...{ play: "running", pause: "paused", wait: "waiting", restart: "restarting", withdraw: "withdrawn" },
      ...{ ...INTERRUPTIONS, ...ENDS },
    },
    restarting: { play: "running", pause: "paused", wait: "waiting", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
    // `restart`: a runner has crashed before its first frame.
    waiting: { play: "running", pause: "paused", wait: "waiting", restart: "waiting", ...INTERRUPTIONS, ...ENDS },
    running: { pause: "paused", wait: "waiting", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
    paused: { play: "running", wait: "waiting", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
    stopping: { finish: "finished", lose: "lost", withdraw: "withdrawn" },
    halting: { lose: "lost", release: "released", withdraw: "withdrawn" },
    lost: { release: "released", withdraw: "withdrawn" },
    finished: {},
    failed: {},
    withdrawn: {},
    released: {},
  };

/** As stored and shown. Null: the stored state stays as it was, for the node that continues. */
const STORED: Readonly<Record<LifecycleState, ProcessState | null>> = {
  ...{ starting: "starting", restarting: "starting", waiting: "waiting", running: "running", paused: "paused" },
  stopping: "stopping",
  ...{ finished: "finished", failed: "failed", withdrawn: "failed", halting: null, lost: null, released: null },
};

export const storedState = (state: LifecycleState): ProcessState | null => STORED[state];

export class StateMachine {
  readonly #onTransition: (from: LifecycleState, to: LifecycleState) => void;
  #state: LifecycleState;

  constructor(
    state: "starting" | "restarting" | "waiting",
    onTransition: (from: LifecycleState, to: LifecycleState) => void = () => {},
  ) {
    this.#state = state;
    this.#onTransition = onTransition;
  }

  get state(): LifecycleState {
    return this.#state;
  }

  /** It should run: neither it nor this node is shutting down. */
  get isWanted(): boolean {
    return this.accepts("stop");
  }

  /** A runner is set up and replies to requests. */
  get isLive(): boolean {
    return this.#state === "running" || this.#state === "paused";
  }

  accepts(event: LifecycleEvent): boolean {
    return TRANSITIONS[this.#state][event] !== undefined;
  }

  /** False when the event is rejected. */
  apply(event: LifecycleEvent): boolean {
    const from = this.#state;
    const to = TRANSITIONS[from][event];
    if (to === undefined) return false;
    this.#state = to;
    this.#onTransition(from, to);
    return true;
  }
}

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

interface RestartRule extends BackoffRule {
  /** Up to this many restarts within the window; the next crash ends the process. */
  readonly restarts: number;
  readonly windowMs: number;
}

export type Decision =
  | { readonly event: "finish" | "fail"; readonly error: ProcessError | null }
  | { readonly waitMs: number; readonly isCrash: boolean };

interface RunFacts {
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
    // The first one at once: its objects are still in view.
    const waitMs = recent === 1 ? 0 : backoff(recent - 1, this.#rule, random);
    if (recent <= restarts) return { waitMs, isCrash: true };
    const often = restarts === 0 ? "it crashed" : `it crashed more than ${restarts} times within ${windowMs / 1000} s`;
    return fail("pipeline_failed", `${often}; the last time: ${detail}`);
  }
}

const fail = (code: string, detail: string): Decision => ({ event: "fail", error: { code, detail } });
