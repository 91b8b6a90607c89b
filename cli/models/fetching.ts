import { CardFault, ModelFault, ModelMisfit } from "../../models/fault.ts";
import type { Fetching } from "../../models/fetch/weights.ts";
import { CommandFailure, UsageFault } from "../command.ts";
import { onInterrupt } from "../run/interrupt.ts";
import type { Terminal } from "../terminal.ts";

const INTERRUPTED = 130;

/** Runs `work` with progress on the terminal. Ctrl-C aborts the download and cleans up; a second one exits at once. */
export async function whileFetching<T>(
  terminal: Terminal,
  command: Fetching["command"],
  work: (fetching: Fetching) => Promise<T>,
): Promise<T> {
  const interrupted = new AbortController();
  const activity = new Activity(terminal);
  const forget = onInterrupt(
    () => interrupted.abort(),
    () => process.exit(INTERRUPTED),
  );
  try {
    return await work({ report: (what) => activity.report(what), signal: interrupted.signal, command });
  } finally {
    forget();
    activity.close();
  }
}

/** Shows what is being done once it takes longer than a second. */
const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_MS = 100;
const PATIENCE_MS = 1_000;
const REMINDER_MS = 30_000;

export class Activity {
  readonly #terminal: Terminal;
  readonly #startMs = performance.now();
  #timer: NodeJS.Timeout;
  #what = "";
  #frame = 0;
  #said = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#timer =
      terminal.isLive && !terminal.isJson ? setInterval(() => this.#draw(), FRAME_MS) : this.#wait(PATIENCE_MS);
  }

  /** Drawn at once: what follows may block the thread. */
  report(what: string): void {
    this.#what = what;
    if (this.#terminal.isLive && !this.#terminal.isJson) this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#terminal.clear();
  }

  #draw(): void {
    const seconds = ((performance.now() - this.#startMs) / 1000).toFixed(1);
    this.#terminal.draw([`${FRAMES[this.#frame++ % FRAMES.length]} ${this.#what} ${seconds} s`]);
  }

  #wait(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const seconds = Math.round((performance.now() - this.#startMs) / 1000);
      const text = this.#said ? `${this.#what} (${seconds} s)` : this.#what;
      if (text !== "") this.#terminal.say(this.#terminal.isJson ? JSON.stringify({ type: "progress", text }) : text);
      this.#said = true;
      this.#timer = this.#wait(REMINDER_MS);
    }, delayMs);
  }
}

/** Runs `work` and turns faults of a card or a model into errors of the command, shown without a stack. */
export async function explainModelFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CardFault) throw new UsageFault(error.message, { cause: error });
    if (error instanceof ModelFault || error instanceof ModelMisfit)
      throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}
