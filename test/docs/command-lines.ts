/** Lines of `sh` blocks: whether whoever types them gets as far as the command that they name. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, readArguments } from "../../cli/command.ts";
import { COMMANDS } from "../../cli/commands.ts";
import { readGraphWords } from "../../cli/compile-graph.ts";
import { ROOT } from "./pages.ts";

/** Lines that go on are one; comments are none. */
export const splitLines = (text: string): readonly string[] =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "");

/** Quotes are kept together; what goes to a file ends the line. */
export const splitWords = (line: string): readonly string[] =>
  [...line.replace(/\s>\s*\S+$/, "").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? "",
  );

export const isForShell = (line: string): boolean => /^(curl|[A-Z]+=|[a-z]+\(\)|\}|"|'|-)/.test(line);

/** Null: it is good. */
export async function judgeLine(line: string, scripts: Readonly<Record<string, string>>): Promise<string | null> {
  const [program, first = "", ...rest] = splitWords(line);
  if (program === "npx" && first === "windhover") return judgeWindhover(rest);
  if (program === "npm" && first === "start") return judgeWindhover(["serve", ...rest.slice(1)]);
  if (program === "npm") return judgeNpm(first, rest, scripts);
  if (program === "node") return existsSync(join(ROOT, first)) ? judgePaths(rest) : `there is no ${first}`;
  return `nothing is known of ${program}: run it, or say in a comment above the block why it is not run`;
}

async function judgeWindhover([name = "", ...rest]: readonly string[]): Promise<string | null> {
  const entry = COMMANDS[name];
  if (entry === undefined) return `there is no command ${name}`;
  if (!("commands" in entry)) return judgeArguments(await entry.load(), rest);
  const [second = "", ...others] = rest;
  const leaf = entry.commands[second];
  return leaf === undefined ? `there is no command ${name} ${second}` : judgeArguments(await leaf.load(), others);
}

function judgeArguments(command: Command, words: readonly string[]): string | null {
  try {
    const { positionals } = readArguments(command, words);
    if (command.usage.startsWith("GRAPH")) readGraphWords(positionals);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function judgeNpm(script: string, rest: readonly string[], scripts: Readonly<Record<string, string>>): string | null {
  const [name = "", dashes, what = ""] = script === "run" ? rest : [script, ...rest];
  if (scripts[name] === undefined) return `package.json has no script ${name}`;
  if (dashes === undefined) return null;
  const file = { bench: `tools/bench/${what}.ts`, soak: `test/soak/${what}.soak.ts` }[name];
  return file === undefined || existsSync(join(ROOT, file)) ? null : `there is no ${file}`;
}

const judgePaths = (words: readonly string[]): string | null => {
  const missing = words.find((word) => word.includes("/") && !existsSync(join(ROOT, word)));
  return missing === undefined ? null : `there is no ${missing}`;
};
