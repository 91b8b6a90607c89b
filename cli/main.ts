/** From the words of a command line to an exit code. */

import { GraphFaults } from "../graphs/compiler/fault.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { type Command, CommandFailure, EXIT, readArguments, UsageFault } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { showFaults } from "./faults.ts";
import { helpOf, helpOfFamily, helpOverall } from "./help.ts";
import { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";

export async function main(args: readonly string[]): Promise<void> {
  const terminal = new Terminal(process.stdout, process.stderr, process.env);
  terminal.onClosed(() => leave(EXIT.ok, terminal));
  let code: number;
  try {
    code = await dispatch(args, terminal);
  } catch (error) {
    code = tell(error, terminal);
  }
  await leave(code, terminal);
}

async function leave(code: number, terminal: Terminal): Promise<void> {
  await terminal.flush();
  process.exit(terminal.isBroken && code === EXIT.ok ? EXIT.failed : code);
}

async function dispatch(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === "--version" || name === "-v") {
    await terminal.print(`windhover ${readVersion()}`);
    return EXIT.ok;
  }
  if (name === undefined || isHelp(name)) return showHelp(rest, terminal);
  if (rest.includes("--json")) terminal.speakJson();
  const entry = findEntry([], name, COMMANDS);
  if (!("commands" in entry)) return runCommand(await entry.load(), rest, terminal);
  const [second, ...others] = rest;
  if (second === undefined || isHelp(second)) return showHelp([name], terminal);
  const leaf = findEntry([name], second, entry.commands);
  return runCommand(await leaf.load(), others, terminal);
}

const isHelp = (word: string): boolean => word === "--help" || word === "-h" || word === "help";

async function runCommand(command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  const given = readArguments(command, args);
  if (given.flag("help")) return showHelp(command.name.split(" "), terminal);
  return command.run(given, terminal);
}

/** `above` are the words that led here: none, or a family of commands. */
function findEntry<E>(above: readonly string[], word: string, entries: Readonly<Record<string, E>>): E {
  const entry = Object.hasOwn(entries, word) ? entries[word] : undefined;
  if (entry !== undefined) return entry;
  const list = `\n  \`windhover ${["help", ...above].join(" ")}\` lists them`;
  if (word.startsWith("-")) throw new UsageFault(`"${word}" comes before any command${list}`);
  const hint = didYouMean(word, [...Object.keys(entries), "help"]);
  throw new UsageFault(`there is no command "${[...above, word].join(" ")}"${hint}${list}`);
}

async function showHelp(words: readonly string[], terminal: Terminal): Promise<number> {
  await terminal.print(await findHelp(words, terminal));
  return EXIT.ok;
}

async function findHelp([name, second]: readonly string[], terminal: Terminal): Promise<string> {
  if (name === undefined || name === "help") return helpOverall(terminal);
  const entry = findEntry([], name, COMMANDS);
  if (!("commands" in entry)) return helpOf(await entry.load(), terminal);
  if (second === undefined) return helpOfFamily(name, entry, terminal);
  return helpOf(await findEntry([name], second, entry.commands).load(), terminal);
}

function tell(error: unknown, terminal: Terminal): number {
  if (error instanceof GraphFaults) {
    showFaults(error.faults, () => undefined, terminal);
    return EXIT.refused;
  }
  const message = maskCredentials(messageOf(error));
  if (terminal.isJson) terminal.say(JSON.stringify({ type: "error", message }));
  else terminal.say(`${terminal.paintErr("red", "windhover:")} ${message}`);
  return error instanceof UsageFault ? EXIT.refused : EXIT.failed;
}

/** Of parts that are only loaded when they are needed. */
const TOLD = ["ConfigFaults", "AddonMissing", "ModelFault", "CardFault", "StorageFault", "ModelMisfit"];

/** What is told in full by its message needs no stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isTold = error instanceof UsageFault || error instanceof CommandFailure || TOLD.includes(error.name);
  return isTold ? error.message : (error.stack ?? error.message);
}
