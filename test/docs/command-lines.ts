/** Lines of `sh` blocks: parses them, checks that their commands accept them, and runs `npx windhover …` in this process. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, readArguments } from "../../cli/command.ts";
import { COMMANDS } from "../../cli/commands.ts";
import { readGraphWords } from "../../cli/compile-graph.ts";
import { TextWriter } from "../../cli/terminal.fixture.ts";
import { Terminal } from "../../cli/terminal.ts";
import { openWorkspaceFor } from "../../cli/workspace.ts";
import { ROOT } from "./pages.ts";

/** Joins continued lines and removes comments. */
export const splitLines = (text: string): readonly string[] =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "");

/** Removes quotes and a redirection to a file. */
export const splitWords = (line: string): readonly string[] =>
  [...line.replace(/\s>\s*\S+$/, "").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? "",
  );

export const isForShell = (line: string): boolean => /^(curl|sed|printf|[A-Z]+=|[a-z]+\(\)|\}|"|'|-)/.test(line);

/** Null when the line is valid. */
export async function checkLine(line: string, scripts: Readonly<Record<string, string>>): Promise<string | null> {
  const [program, first = "", ...rest] = splitWords(line);
  if (program === "cd") return null;
  if (program === "npx" && first === "windhover") return checkWindhover(rest);
  if (program === "npm" && first === "start") return checkWindhover(["serve", ...rest.slice(1)]);
  if (program === "npm") return checkNpm(first, rest, scripts);
  if (program === "node") return existsSync(join(ROOT, first)) ? checkPaths(rest) : `no such file: ${first}`;
  return `${program} cannot be checked: run it, or give the reason in a comment above the block (not run: REASON)`;
}

async function checkWindhover([name = "", ...rest]: readonly string[]): Promise<string | null> {
  const entry = COMMANDS[name];
  if (entry === undefined) return `no such command: ${name}`;
  if (!("commands" in entry)) return checkArguments(await entry.load(), rest);
  const [second = "", ...others] = rest;
  const leaf = entry.commands[second];
  return leaf === undefined ? `no such command: ${name} ${second}` : checkArguments(await leaf.load(), others);
}

function checkArguments(command: Command, words: readonly string[]): string | null {
  try {
    const { positionals } = readArguments(command, words);
    if (command.usage.startsWith("GRAPH")) readGraphWords(positionals);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function checkNpm(script: string, rest: readonly string[], scripts: Readonly<Record<string, string>>): string | null {
  const [name = "", dashes, what = ""] = script === "run" ? rest : [script, ...rest];
  if (scripts[name] === undefined) return `package.json has no script ${name}`;
  if (dashes === undefined) return null;
  const file = { bench: `tools/bench/${what}.ts`, soak: `test/soak/${what}.soak.ts` }[name];
  return file === undefined || existsSync(join(ROOT, file)) ? null : `no such file: ${file}`;
}

const checkPaths = (words: readonly string[]): string | null => {
  const missing = words.find((word) => word.includes("/") && !existsSync(join(ROOT, word)));
  return missing === undefined ? null : `no such file: ${missing}`;
};

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a line in the current working directory. Rejects with the error that the command would print. */
export async function runLine(line: string): Promise<Outcome> {
  const [, , ...words] = splitWords(line);
  const { command, rest } = await findCommand(words);
  const [out, err] = [new TextWriter(), new TextWriter()];
  await openWorkspaceFor(command);
  const code = await command.run(readArguments(command, rest), new Terminal(out, err, {}));
  const file = /\s>\s*(\S+)$/.exec(line)?.[1];
  if (file !== undefined) writeFileSync(file, out.text);
  return { code, out: out.text, err: err.text };
}

async function findCommand([name = "", ...rest]: readonly string[]): Promise<{ command: Command; rest: string[] }> {
  const entry = COMMANDS[name];
  if (entry === undefined) throw new Error(`no such command: ${name}`);
  if (!("commands" in entry)) return { command: await entry.load(), rest };
  const [second = "", ...others] = rest;
  const leaf = entry.commands[second];
  if (leaf === undefined) throw new Error(`no such command: ${name} ${second}`);
  return { command: await leaf.load(), rest: others };
}
