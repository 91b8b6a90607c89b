/**
 * The states of a process on this node and the events that change them. Pure. An event that the table does not list for
 * the current state is rejected and changes nothing.
 */
import type { ProcessState } from "./processes.ts";

export type LifecycleState =
  /** The first launch; no client has received its uuid. */
  | "starting"
  /** It has run before, here or on another node; a runner is awaited or being launched. */
  | "restarting"
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
    starting: { play: "running", restart: "restarting", withdraw: "withdrawn", ...INTERRUPTIONS, ...ENDS },
    restarting: { play: "running", pause: "paused", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
    running: { pause: "paused", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
    paused: { play: "running", restart: "restarting", ...INTERRUPTIONS, ...ENDS },
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
  ...{ starting: "starting", restarting: "starting", running: "running", paused: "paused", stopping: "stopping" },
  ...{ finished: "finished", failed: "failed", withdrawn: "failed", halting: null, lost: null, released: null },
};

export const storedState = (state: LifecycleState): ProcessState | null => STORED[state];

export class StateMachine {
  readonly #onTransition: (from: LifecycleState, to: LifecycleState) => void;
  #state: LifecycleState;

  constructor(
    state: "starting" | "restarting",
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
