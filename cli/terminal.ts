/** Standard output and standard error: lines, colours, and a part at the bottom of the screen that is redrawn in place. */
import { fit, fitRows, PAGE_COLUMNS } from "./text.ts";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "cyan";

const CODES: Readonly<Record<Colour, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
};

export type Paint = (colour: Colour, text: string) => string;

interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly writableLength: number;
}

const USUAL_ROWS = 24;
const REDRAW_MS = 30;
/**
 * What standard error may hold for a reader that stalls; further lines are counted and told of later. More than floods
 * such as the log leave free, so that there is room for how a run ended.
 */
export const MOST_UNREAD_BYTES = 2_000_000;

export class Terminal {
  readonly #out: Output;
  readonly #err: Output;
  readonly paintOut: Paint;
  readonly paintErr: Paint;
  /** The live part, and how many lines of it are on the screen now. */
  #live: readonly string[] = [];
  #drawn = 0;
  #drawnMs = 0;
  #closed = false;
  #broken = false;
  #onClosed: () => void = () => {};
  #unsaid = 0;
  #json = false;

  constructor(out: Output, err: Output, env: NodeJS.ProcessEnv) {
    this.#out = out;
    this.#err = err;
    this.paintOut = makePaint(out, env);
    this.paintErr = makePaint(err, env);
    out.on("error", (error: NodeJS.ErrnoException) => this.#lose(error));
    err.on("error", () => {}); // nobody is left to tell
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

  /** The reader of standard output has gone: `| head` has what it wanted. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Standard output could not be written, and not because its reader had enough. */
  get isBroken(): boolean {
    return this.#broken;
  }

  onClosed(told: () => void): void {
    this.#onClosed = told;
  }

  /** Bytes written but not yet taken. */
  get backlog(): number {
    return this.#out.writableLength;
  }

  /** Bytes said to standard error but not yet taken. */
  get unread(): number {
    return this.#err.writableLength;
  }

  /** Whether every line on standard error is to be JSON. */
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
    if (isScreen) this.#lift();
    const written = new Promise<void>((resolve) => this.#out.write(`${line}\n`, () => resolve()));
    if (isScreen) this.#settle();
    return written;
  }

  /** A line, or several, to standard error. */
  say(text: string): void {
    if (this.unread > MOST_UNREAD_BYTES) {
      this.#unsaid += 1;
      return;
    }
    this.#lift();
    this.#tellLoss();
    this.#err.write(`${text}\n`);
    this.#settle();
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

  /** Takes the live part off the screen, for good. */
  clear(): void {
    this.#live = [];
    this.#lift();
  }

  #tellLoss(): void {
    if (this.#unsaid === 0) return;
    const text = this.#json
      ? JSON.stringify({ type: "lost", lines: this.#unsaid })
      : `windhover: ${this.#unsaid} lines were left out here: they were not read in time`;
    this.#err.write(`${text}\n`);
    this.#unsaid = 0;
  }

  #lift(): void {
    if (this.#drawn === 0) return;
    const back = this.#drawn > 1 ? `\x1b[${this.#drawn - 1}A` : "";
    this.#err.write(`\r${back}\x1b[0J`);
    this.#drawn = 0;
  }

  /** Puts the live part back below what was written, unless lines come too fast for it to be seen. */
  #settle(): void {
    if (this.#live.length > 0 && performance.now() - this.#drawnMs >= REDRAW_MS) this.draw(this.#live);
  }

  /** Resolves when everything written has been taken, or nobody is left to take it. */
  async flush(): Promise<void> {
    this.clear();
    this.#tellLoss();
    await Promise.all([this.#out, this.#err].map((output) => drain(output, () => this.#closed)));
  }

  #lose(error: NodeJS.ErrnoException): void {
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

/** https://no-color.org, and FORCE_COLOR for those who page with `less -R`. */
function makePaint(output: Output, env: NodeJS.ProcessEnv): Paint {
  const forced = (env.FORCE_COLOR ?? "") !== "" && env.FORCE_COLOR !== "0";
  const coloured = (env.NO_COLOR ?? "") === "" && (forced || (output.isTTY === true && env.TERM !== "dumb"));
  if (!coloured) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour][0]}m${text}\x1b[${CODES[colour][1]}m`;
}
