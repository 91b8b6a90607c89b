/** A file of trace events that is complete JSON after every write, so that it is valid however the program ends. */
import { closeSync, openSync, writeSync } from "node:fs";
import { CommandFailure } from "../../command.ts";
import type { TraceEvent } from "./trace-events.ts";

/** Without a line end: Perfetto rejects characters after the last brace if they come in another block. */
const FOOT = "\n]}";

export class TraceFile {
  readonly #file: string;
  #descriptor: number | null;
  /** Where the next event goes: over the foot. */
  #at = 0;

  /** Throws `CommandFailure` for a file that cannot be written, as `add` does. */
  constructor(file: string, first: TraceEvent, about: Readonly<Record<string, string>>) {
    this.#file = file;
    this.#descriptor = this.#try(() => openSync(file, "w"));
    // Without `displayTimeUnit`, which old versions of Perfetto take for the unit of all times.
    const head = JSON.stringify({ otherData: about });
    this.#write(`${head.slice(0, -1)},"traceEvents":[\n${JSON.stringify(first)}`);
  }

  get bytes(): number {
    return this.#at + FOOT.length;
  }

  add(events: readonly TraceEvent[]): void {
    if (events.length > 0) this.#write(events.map((event) => `,\n${JSON.stringify(event)}`).join(""));
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #write(text: string): void {
    const bytes = Buffer.from(text + FOOT);
    for (let done = 0; done < bytes.length; )
      done += this.#try(() => writeSync(this.#descriptor ?? -1, bytes, done, bytes.length - done, this.#at + done));
    this.#at += bytes.length - FOOT.length;
  }

  #try<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      throw new CommandFailure(`--trace ${this.#file} cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
}
