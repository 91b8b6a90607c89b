/** Where it is shown what would have been sent: lines of JSON, or a timeline on a screen, and a file. */
import { closeSync, openSync, writeSync } from "node:fs";
import { CommandFailure } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { formatLine, type Sender, type Sending } from "./sending.ts";
import { formatSending } from "./timeline-text.ts";

export interface OutletOrder {
  readonly senders: readonly Sender[];
  /** `--out`. */
  readonly file: string | null;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
}

export class Outlet {
  readonly #order: OutletOrder;
  readonly #terminal: Terminal;
  #descriptor: number | null;

  constructor(order: OutletOrder, terminal: Terminal) {
    this.#order = order;
    this.#terminal = terminal;
    this.#descriptor = order.file === null ? null : this.#try(() => openSync(order.file ?? "", "w"));
  }

  /** For people: on a screen, unless JSON is asked for. */
  get isReadable(): boolean {
    return this.#terminal.isOutLive && !this.#order.isJson;
  }

  /** Resolves when more may be shown. */
  async show(sendings: readonly Sending[], startMs: number): Promise<void> {
    const { senders, isQuiet } = this.#order;
    for (const sending of sendings) {
      const sender = senders[sending.row];
      if (sender === undefined) continue;
      const line = formatLine(sending, sender, startMs);
      this.#write(`${line}\n`);
      if (!this.isReadable) await this.#terminal.print(line);
      else if (!isQuiet) await this.#terminal.print(formatSending(sending, senders, startMs, this.#terminal.paintOut));
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #write(text: string): void {
    const { file } = this.#order;
    if (this.#descriptor === null || file === null) return;
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; )
      at += this.#try(() => writeSync(this.#descriptor ?? -1, bytes, at, bytes.length - at));
  }

  #try<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      throw new CommandFailure(`--out ${this.#order.file} cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
}
