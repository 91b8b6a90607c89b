/** What a command of `windhover` is, and the one way in which its arguments are read. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { didYouMean } from "../schemas/suggest.ts";
import type { Terminal } from "./terminal.ts";

export interface Option {
  readonly type: "boolean" | "string";
  /** May be given several times. */
  readonly multiple?: boolean;
  readonly short?: string;
  /** What the value is, for the help: `NODE@TIME=FILE`. */
  readonly value?: string;
  readonly about: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly about: string;
  /** What follows the name: `GRAPH [SOURCE] [param=value…]`. */
  readonly usage: string;
  readonly options: Options;
  /** What the list of options cannot say. */
  readonly notes?: string;
  /** Command lines that can be typed as they stand. */
  readonly examples: readonly string[];
  /** Words that look like options are arguments as well: for whatever the command hands them on to. */
  readonly verbatim?: boolean;
  /** Resolves with the exit code. */
  run(given: Given, terminal: Terminal): Promise<number>;
}

/** 0 all well, 1 failed, 2 a bad graph or a bad command line. */
export const EXIT = { ok: 0, failed: 1, refused: 2 } as const;

/** The command line cannot be followed. Shown without a stack; exit code 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** What was asked for cannot be done, for a reason that the message tells in full. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
}

/** Arguments of a command, read. */
export class Given {
  readonly positionals: readonly string[];
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(positionals: readonly string[], values: Readonly<Record<string, unknown>>) {
    this.positionals = positionals;
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  texts(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** A number above 0, whole where it must be. */
  number(name: string, kind: "whole" | "any"): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = text.trim() === "" ? Number.NaN : Number(text);
    const fits = value > 0 && value <= 1e9 && (kind === "any" || Number.isInteger(value));
    if (fits) return value;
    throw new UsageFault(`--${name} is "${text}"; expected a ${kind === "whole" ? "whole " : ""}number above 0`);
  }

  choice<const T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw new UsageFault(`--${name} is "${text}"; expected ${choices.join(" or ")}${didYouMean(text, choices)}`);
  }
}

export const HELP: Options = { help: { type: "boolean", short: "h", about: "Show this." } };

/** Throws `UsageFault` for options that the command does not have, or that lack a value. */
export function readArguments(command: Command, args: readonly string[]): Given {
  if (command.verbatim && args[0] !== "--help" && args[0] !== "-h") return new Given(args, {});
  const options = { ...command.options, ...HELP };
  const config: NonNullable<ParseArgsConfig["options"]> = Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple, short }]) => [
      name,
      { type, ...(multiple && { multiple }), ...(short && { short }) },
    ]),
  );
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: config,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) if (token.kind === "option") judgeOption(command, options, token);
  return new Given(positionals, values);
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
}

function judgeOption(command: Command, options: Options, { name, rawName, value }: OptionToken): void {
  const option = options[name];
  if (option === undefined) {
    const hint = didYouMean(name, Object.keys(options), "--");
    throw new UsageFault(
      `${command.name} has no option ${rawName}${hint}\n  \`windhover help ${command.name}\` lists them`,
    );
  }
  if (option.type === "boolean" && value !== undefined)
    throw new UsageFault(`${rawName} takes no value, but has "${value}"`);
  // `--frames --quiet` is a forgotten value, not a value that begins with dashes.
  if (option.type === "string" && (value === undefined || value === "" || value.startsWith("--")))
    throw new UsageFault(`${rawName} needs a value: ${rawName} ${option.value ?? "VALUE"}`);
}

/** Throws unless there are so many positionals. */
export function expectPositionals(given: Given, least: number, most: number, what: string): void {
  const { length } = given.positionals;
  if (length < least) throw new UsageFault(`missing: ${what}`);
  if (length > most) throw new UsageFault(`"${given.positionals[most]}" is too much; expected ${what}`);
}
