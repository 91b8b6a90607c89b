/** From the words of a command line to an exit code. */
import { GraphFaults } from "../graphs/compiler/fault.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { CommandFailure, EXIT, readArguments, UsageFault } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { showFaults } from "./faults.ts";
import { helpOf, helpOfFamily, helpOverall } from "./help.ts";
import { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";
import { openWorkspaceFor } from "./workspace.ts";

export async function main(args: readonly string[]): Promise<void> {
  const terminal = new Terminal(process.stdout, process.stderr, process.env);
  terminal.onClosed(() => leave(EXIT.ok, terminal));
  await leave(await runCommand(args, terminal), terminal);
}

/** Resolves with the exit code, also after an error, which is shown. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    return report(error, terminal);
  }
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
  const isFamily = "commands" in entry;
  const usual = isFamily && (rest[0] === undefined || isFlag(rest[0])) && entry.usual;
  const [second, ...others] = usual ? [usual, ...rest] : rest;
  if (isFamily && (second === undefined || isHelp(second))) return showHelp([name], terminal);
  const command = await (isFamily ? findEntry([name], second ?? "", entry.commands) : entry).load();
  const given = readArguments(command, isFamily ? others : rest);
  if (given.flag("help")) return showHelp(command.name.split(" "), terminal);
  await openWorkspaceFor(command);
  return command.run(given, terminal);
}

const isFlag = (word: string): boolean => word.startsWith("-") && !isHelp(word);
const isHelp = (word: string): boolean => word === "--help" || word === "-h" || word === "help";

/** `above` are the words before: none, or the name of a family. */
function findEntry<E>(above: readonly string[], word: string, entries: Readonly<Record<string, E>>): E {
  const entry = Object.hasOwn(entries, word) ? entries[word] : undefined;
  if (entry !== undefined) return entry;
  const list = `\n  \`windhover ${["help", ...above].join(" ")}\` lists the commands`;
  if (word.startsWith("-")) throw new UsageFault(`expected a command before "${word}"${list}`);
  const hint = didYouMean(word, [...Object.keys(entries), "help"]);
  throw new UsageFault(`there is no command "${[...above, word].join(" ")}"${hint}${list}`);
}

async function showHelp([name, second]: readonly string[], terminal: Terminal): Promise<number> {
  const find = async (): Promise<string> => {
    if (name === undefined || name === "help") return helpOverall(terminal);
    const entry = findEntry([], name, COMMANDS);
    if (!("commands" in entry)) return helpOf(await entry.load(), terminal);
    if (second === undefined) return helpOfFamily(name, entry, terminal);
    return helpOf(await findEntry([name], second, entry.commands).load(), terminal);
  };
  await terminal.print(await find());
  return EXIT.ok;
}

/** Shows the error and returns the exit code. */
function report(error: unknown, terminal: Terminal): number {
  if (error instanceof GraphFaults) {
    showFaults(error.faults, () => undefined, terminal);
    return EXIT.refused;
  }
  const message = maskCredentials(messageOf(error));
  if (terminal.isJson) terminal.say(JSON.stringify({ type: "error", message }));
  else terminal.say(`${terminal.paintErr("red", "windhover:")} ${message}`);
  return error instanceof UsageFault ? EXIT.refused : EXIT.failed;
}

/** Errors whose message says everything, by name: their modules are loaded only by the commands that need them. */
const EXPLAINED = ["ConfigFaults", "AddonMissing", "ModelFault", "CardFault", "StorageFault", "ModelMisfit"];

/** With a stack unless the message says everything. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExplained = error instanceof UsageFault || error instanceof CommandFailure || EXPLAINED.includes(error.name);
  return isExplained ? error.message : (error.stack ?? error.message);
}
