/** Says what is being done as soon as it takes longer than a moment. */
import type { Terminal } from "../terminal.ts";

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

  /** A screen shows it at once, for what follows may keep the thread busy. */
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
