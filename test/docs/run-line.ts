/** Runs a line `npx windhover …` in this process, as whoever types it in this folder would have it run. */
import { writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import { type Command, readArguments } from "../../cli/command.ts";
import { COMMANDS } from "../../cli/commands.ts";
import { Terminal } from "../../cli/terminal.ts";
import { splitWords } from "./command-lines.ts";

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Rejects with what the command would have told before it ended. */
export async function runLine(line: string): Promise<Outcome> {
  const [, , ...words] = splitWords(line);
  const { command, rest } = await findCommand(words);
  const [out, err] = [new Written(), new Written()];
  const code = await command.run(readArguments(command, rest), new Terminal(out, err, {}));
  const file = /\s>\s*(\S+)$/.exec(line)?.[1];
  if (file !== undefined) writeFileSync(file, out.text);
  return { code, out: out.text, err: err.text };
}

async function findCommand([name = "", ...rest]: readonly string[]): Promise<{ command: Command; rest: string[] }> {
  const entry = COMMANDS[name];
  if (entry === undefined) throw new Error(`there is no command ${name}`);
  if (!("commands" in entry)) return { command: await entry.load(), rest };
  const [second = "", ...others] = rest;
  const leaf = entry.commands[second];
  if (leaf === undefined) throw new Error(`there is no command ${name} ${second}`);
  return { command: await leaf.load(), rest: others };
}

class Written extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.text += chunk.toString();
    taken();
  }
}
