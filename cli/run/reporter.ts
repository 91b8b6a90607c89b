/** What a run says on standard error: sentences for people or, with --json, lines of JSON. */

import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Colour, Terminal } from "../terminal.ts";

export class Reporter {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #quiet: boolean;

  constructor(terminal: Terminal, { json, quiet }: { readonly json: boolean; readonly quiet: boolean }) {
    this.#terminal = terminal;
    this.#json = json;
    this.#quiet = quiet;
  }

  /** What is good to know. */
  note(text: string, record: JsonRecord): void {
    if (!this.#quiet) this.#say(null, text, record);
  }

  warn(text: string, record: JsonRecord): void {
    if (!this.#quiet) this.#say("yellow", text, record);
  }

  error(text: string, record: JsonRecord): void {
    this.#say("red", text, record);
  }

  #say(colour: Colour | null, text: string, record: JsonRecord): void {
    if (this.#json) {
      this.#terminal.say(maskCredentials(JSON.stringify(record)));
      return;
    }
    const [subject, rest] = split(text);
    const painted =
      colour === null ? this.#terminal.paintErr("bold", subject) : this.#terminal.paintErr(colour, subject);
    this.#terminal.say(maskCredentials(painted + rest));
  }
}

/** `decode: it broke` → the name and the rest. */
function split(text: string): readonly [string, string] {
  const end = /^[\w:./-]+:(?= )/.exec(text)?.[0].length ?? 0;
  return [text.slice(0, end), text.slice(end)];
}
