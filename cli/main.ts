/** From the words of a command line to an exit code. */

import { GraphFaults } from "../graphs/compiler/fault.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { CommandFailure, EXIT, readArguments, UsageFault } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { helpOf, helpOverall } from "./help.ts";
import { showFaults } from "./show-faults.ts";
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
  if (name === undefined || name === "--help" || name === "-h" || name === "help") return showHelp(rest[0], terminal);
  if (rest.includes("--json")) terminal.speakJson();
  const command = await findCommand(name);
  const given = readArguments(command, rest);
  if (given.flag("help")) return showHelp(name, terminal);
  return command.run(given, terminal);
}

async function findCommand(name: string) {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.load : undefined;
  if (load !== undefined) return load();
  if (name.startsWith("-")) throw new UsageFault(`"${name}" comes before any command\n  \`windhover help\` lists them`);
  const hint = didYouMean(name, [...Object.keys(COMMANDS), "help"]);
  throw new UsageFault(`there is no command "${name}"${hint}\n  \`windhover help\` lists them`);
}

async function showHelp(name: string | undefined, terminal: Terminal): Promise<number> {
  const text =
    name === undefined || name === "help" ? helpOverall(terminal) : helpOf(await findCommand(name), terminal);
  await terminal.print(text);
  return EXIT.ok;
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

/** What is told in full by its message needs no stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isTold = error instanceof UsageFault || error instanceof CommandFailure || error.name === "AddonMissing";
  return isTold ? error.message : (error.stack ?? error.message);
}
