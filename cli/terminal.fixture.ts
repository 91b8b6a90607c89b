/** A terminal whose standard error is read only when told to. */
import { Writable } from "node:stream";
import { Terminal } from "./terminal.ts";

export class StalledReader extends Writable {
  text = "";
  #resume: (() => void) | null = null;
  #reading = false;

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.text += chunk.toString();
    if (this.#reading) taken();
    else this.#resume = taken;
  }

  /** Takes all that waits and all that comes. */
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
