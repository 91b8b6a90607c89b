/** Standard output and standard error: lines, colours, and a live area at the bottom of the screen, redrawn in place. */
import { alignColumns, type Colour, fit, fitRows, PAGE_COLUMNS, type Paint } from "./text.ts";

const CODES: Readonly<Record<Colour, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
};

interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly writableLength: number;
}

const USUAL_ROWS = 24;
const REDRAW_MS = 30;
/**
 * Bytes buffered for a stalled reader of standard error; further lines are dropped, counted and reported later. Higher
 * than the limit of the log, so that the result of a run still fits.
 */
export const MOST_UNREAD_BYTES = 2_000_000;

export class Terminal {
  readonly #out: Output;
  readonly #err: Output;
  readonly paintOut: Paint;
  readonly paintErr: Paint;
  /** The live area, and how many of its lines are on the screen. */
  #live: readonly string[] = [];
  #drawn = 0;
  #drawnMs = 0;
  #closed = false;
  #broken = false;
  #onClosed: () => void = () => {};
  #dropped = 0;
  #json = false;

  constructor(out: Output, err: Output, env: NodeJS.ProcessEnv) {
    this.#out = out;
    this.#err = err;
    this.paintOut = makePaint(out, env);
    this.paintErr = makePaint(err, env);
    out.on("error", (error: NodeJS.ErrnoException) => this.#onOutError(error));
    err.on("error", () => {}); // there is no other place to report it
  }

  /** Whether standard error is a screen that can be drawn on. */
  get isLive(): boolean {
    return this.#err.isTTY === true && process.env.TERM !== "dumb";
  }

  get isOutLive(): boolean {
    return this.#out.isTTY === true;
  }

  get columns(): number {
    return this.#err.columns || this.#out.columns || PAGE_COLUMNS;
  }

  get rows(): number {
    return this.#err.rows || USUAL_ROWS;
  }

  /** The reader of standard output has closed it, as `| head` does. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Writing to standard output failed with something other than EPIPE. */
  get isBroken(): boolean {
    return this.#broken;
  }

  onClosed(listener: () => void): void {
    this.#onClosed = listener;
  }

  /** Bytes of standard output that were not read yet. */
  get backlog(): number {
    return this.#out.writableLength;
  }

  /** Bytes of standard error that were not read yet. */
  get unread(): number {
    return this.#err.writableLength;
  }

  /** Whether every line on standard error must be JSON. */
  get isJson(): boolean {
    return this.#json;
  }

  speakJson(): void {
    this.#json = true;
  }

  /** A line to standard output; resolves when more may be written. */
  print(line: string): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const isScreen = this.#out.isTTY === true;
    if (isScreen) this.#hideLive();
    const written = new Promise<void>((resolve) => this.#out.write(`${line}\n`, () => resolve()));
    if (isScreen) this.#showLive();
    return written;
  }

  /** Left-aligned columns with dimmed heads on standard output, cut to the width of a screen. */
  async printTable(heads: readonly string[], rows: readonly (readonly string[])[]): Promise<void> {
    for (const [index, line] of alignColumns([heads, ...rows]).entries()) {
      const cut = this.isOutLive ? fit(line, this.columns) : line;
      await this.print(index === 0 ? this.paintOut("dim", cut) : cut);
    }
  }

  /** A line, or several, to standard error. */
  say(text: string): void {
    if (this.unread > MOST_UNREAD_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#hideLive();
    this.#reportDropped();
    this.#err.write(`${text}\n`);
    this.#showLive();
  }

  /** Shows these lines at the bottom of the screen, in place of those shown before. Only where `isLive`. */
  draw(lines: readonly string[]): void {
    if (!this.isLive) return;
    this.#live = lines;
    this.#drawnMs = performance.now();
    const shown = fitRows(lines, this.rows - 1).map((line) => fit(line, this.columns - 1));
    const back = this.#drawn > 1 ? `\x1b[${this.#drawn - 1}A` : "";
    const text = shown.map((line) => `\x1b[2K${line}`).join("\n");
    this.#err.write(`${this.#drawn > 0 ? `\r${back}` : ""}\x1b[0J${text}`);
    this.#drawn = shown.length;
  }

  /** Removes the live area. */
  clear(): void {
    this.#live = [];
    this.#hideLive();
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const text = this.#json
      ? JSON.stringify({ type: "lost", lines: this.#dropped })
      : `windhover: ${this.#dropped} lines were dropped here: standard error was not read in time`;
    this.#err.write(`${text}\n`);
    this.#dropped = 0;
  }

  #hideLive(): void {
    if (this.#drawn === 0) return;
    const back = this.#drawn > 1 ? `\x1b[${this.#drawn - 1}A` : "";
    this.#err.write(`\r${back}\x1b[0J`);
    this.#drawn = 0;
  }

  /** Redraws the live area below what was written, unless lines follow too fast for it to be seen. */
  #showLive(): void {
    if (this.#live.length > 0 && performance.now() - this.#drawnMs >= REDRAW_MS) this.draw(this.#live);
  }

  /** Resolves when everything written was read, or the reader has closed the stream. */
  async flush(): Promise<void> {
    this.clear();
    this.#reportDropped();
    await Promise.all([this.#out, this.#err].map((output) => drain(output, () => this.#closed)));
  }

  #onOutError(error: NodeJS.ErrnoException): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#broken = error.code !== "EPIPE";
    if (this.#broken) this.say(`windhover: standard output cannot be written: ${error.message}`);
    this.#onClosed();
  }
}

const FLUSH_MS = 5_000;

function drain(output: Output, isClosed: () => boolean): Promise<void> {
  if (output.writableLength === 0 || isClosed()) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FLUSH_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    output.write("", done);
    output.once("error", done);
  });
}

/** https://no-color.org, and FORCE_COLOR for pagers such as `less -R`. */
function makePaint(output: Output, env: NodeJS.ProcessEnv): Paint {
  const forced = (env.FORCE_COLOR ?? "") !== "" && env.FORCE_COLOR !== "0";
  const coloured = (env.NO_COLOR ?? "") === "" && (forced || (output.isTTY === true && env.TERM !== "dumb"));
  if (!coloured) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour][0]}m${text}\x1b[${CODES[colour][1]}m`;
}
