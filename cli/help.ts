/** Help pages, generated from the definitions of the commands. */
import { type Command, HELP, type Option } from "./command.ts";
import { COMMANDS, type Family } from "./commands.ts";
import type { Terminal } from "./terminal.ts";
import { PAGE_COLUMNS, type Paint, widthOf, wrap } from "./text.ts";

function listCommands(entries: Readonly<Record<string, { readonly about: string }>>, paint: Paint): string[] {
  const width = Math.max(...Object.keys(entries).map((name) => name.length));
  return Object.entries(entries).map(([name, { about }]) => `  ${paint("bold", name.padEnd(width))}  ${about}`);
}

export function helpOverall({ paintOut: paint }: Terminal): string {
  return [
    "Windhover runs graphs of GStreamer and TypeScript elements on video.",
    "",
    `${paint("bold", "windhover")} COMMAND …`,
    "",
    ...listCommands(COMMANDS, paint),
    "",
    "`windhover help COMMAND` shows the options of a command. Get started:",
    "",
    "  npx windhover demo",
    "  npx windhover run demo test:ball --frames 50",
    "  npx windhover launch 'source uri=test:ball ! decode ! print' --frames 50",
    "  npx windhover inspect print",
    "",
    "Exit codes: 0 success, 1 failure, 2 invalid graph or command line.",
  ].join("\n");
}

export function helpOfFamily(name: string, { about, commands }: Family, { paintOut: paint }: Terminal): string {
  return [
    wrap(about, PAGE_COLUMNS),
    "",
    `${paint("bold", `windhover ${name}`)} COMMAND …`,
    "",
    ...listCommands(commands, paint),
    "",
    `\`windhover help ${name} COMMAND\` shows the options of one of them.`,
  ].join("\n");
}

export function helpOf(command: Command, { paintOut: paint }: Terminal): string {
  return [
    wrap(command.about, PAGE_COLUMNS),
    "",
    wrap(`${paint("bold", `windhover ${command.name}`)} ${command.usage}`.trimEnd(), PAGE_COLUMNS, "    "),
    "",
    ...Object.entries({ ...command.options, ...HELP }).map(([name, option]) => helpOfOption(name, option, paint)),
    ...(command.notes === undefined ? [] : ["", ...command.notes.split("\n").map(wrapNote)]),
    "",
    "Examples:",
    ...command.examples.map((example) => `  npx windhover ${example}`),
  ].join("\n");
}

/** Items of a list are indented. */
const wrapNote = (line: string): string => wrap(line, PAGE_COLUMNS, line.startsWith("- ") ? "  " : "");

const ABOUT_COLUMN = 24;

function helpOfOption(name: string, { short, value, about, multiple }: Option, paint: Paint): string {
  const flag = `--${name}${value === undefined ? "" : ` ${value}`}${short === undefined ? "" : `, -${short}`}`;
  const indent = " ".repeat(ABOUT_COLUMN);
  const text = `${about}${multiple ? " May be repeated." : ""}`;
  const body = wrap(text, PAGE_COLUMNS - ABOUT_COLUMN).replaceAll("\n", `\n${indent}`);
  const gap = ABOUT_COLUMN - widthOf(flag) - 2;
  return `  ${paint("bold", flag)}${gap < 2 ? `\n${indent}` : " ".repeat(gap)}${body}`;
}
