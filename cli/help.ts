/** Help texts, made from what the commands say of themselves. */
import { type Command, HELP, type Option } from "./command.ts";
import { COMMANDS, type Family } from "./commands.ts";
import type { Paint, Terminal } from "./terminal.ts";
import { PAGE_COLUMNS, widthOf, wrap } from "./text.ts";

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
    "`windhover help COMMAND` tells the options of a command. To begin with:",
    "",
    "  npx windhover demo",
    "  npx windhover run demo test:ball --frames 50",
    "  npx windhover launch 'source uri=test:ball ! decode ! print' --frames 50",
    "  npx windhover inspect print",
    "",
    "Exit codes: 0 ended, 1 failed, 2 bad graph or bad command line.",
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
    `\`windhover help ${name} COMMAND\` tells the options of one of them.`,
  ].join("\n");
}

export function helpOf(command: Command, { paintOut: paint }: Terminal): string {
  const options = Object.entries({ ...command.options, ...HELP });
  return [
    wrap(command.about, PAGE_COLUMNS),
    "",
    wrap(`${paint("bold", `windhover ${command.name}`)} ${command.usage}`.trimEnd(), PAGE_COLUMNS, "    "),
    "",
    ...options.map(([name, option]) => helpOfOption(name, option, paint("bold", flagOf(name, option)))),
    ...(command.notes === undefined ? [] : ["", ...command.notes.split("\n").map((line) => wrap(line, PAGE_COLUMNS))]),
    "",
    "Examples:",
    ...command.examples.map((example) => `  npx windhover ${example}`),
  ].join("\n");
}

const flagOf = (name: string, { short, value }: Option): string =>
  `--${name}${value === undefined ? "" : ` ${value}`}${short === undefined ? "" : `, -${short}`}`;

const ABOUT_COLUMN = 24;

function helpOfOption(name: string, option: Option, painted: string): string {
  const plain = `  ${flagOf(name, option)}`;
  const about = `${option.about}${option.multiple ? " May be repeated." : ""}`;
  const indent = " ".repeat(ABOUT_COLUMN);
  const body = wrap(about, PAGE_COLUMNS - ABOUT_COLUMN).replaceAll("\n", `\n${indent}`);
  const head = `  ${painted}`;
  if (widthOf(plain) + 2 > ABOUT_COLUMN) return `${head}\n${indent}${body}`;
  return `${head}${" ".repeat(ABOUT_COLUMN - widthOf(plain))}${body}`;
}
