/** Outputs of a terminal: one that keeps what is written, and one that is read only on request. */
import { Writable } from "node:stream";
import { Terminal } from "./terminal.ts";

export class TextWriter extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export class StalledReader extends Writable {
  text = "";
  #resume: (() => void) | null = null;
  #reading = false;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    if (this.#reading) done();
    else this.#resume = done;
  }

  /** Reads everything buffered, and everything written later. */
  read(): Promise<void> {
    this.#reading = true;
    this.#resume?.();
    return new Promise((resolve) => this.write("", () => resolve()));
  }

  get lines(): readonly string[] {
    return this.text.split("\n").slice(0, -1);
  }
}

export function stalledTerminal(): { readonly terminal: Terminal; readonly reader: StalledReader } {
  const reader = new StalledReader();
  return { terminal: new Terminal(new StalledReader(), reader, {}), reader };
}
