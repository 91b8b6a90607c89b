/** The progress of a long task on standard error: redrawn in place on a screen, else a line every few seconds. */
import type { Terminal } from "./terminal.ts";

const REDRAW_MS = 100;
const LINE_MS = 5_000;

export class Progress {
  readonly #terminal: Terminal;
  readonly #what: string;
  #shownMs = performance.now();

  constructor(terminal: Terminal, what: string) {
    this.#terminal = terminal;
    this.#what = what;
  }

  /** `of` is null when the total is not known. */
  show(done: number, of: number | null, doing = ""): void {
    const { isLive, isJson } = this.#terminal;
    const nowMs = performance.now();
    if (nowMs - this.#shownMs < (isLive ? REDRAW_MS : LINE_MS)) return;
    this.#shownMs = nowMs;
    if (isJson && !isLive) this.#terminal.say(JSON.stringify({ type: "progress", what: this.#what, done, of }));
    else {
      const line = `${this.#what}: ${done}${of === null ? "" : ` of ${of}`}${doing === "" ? "" : `  ${doing}`}`;
      if (isLive) this.#terminal.draw([line]);
      else this.#terminal.say(line);
    }
  }

  end(): void {
    this.#terminal.clear();
  }
}
