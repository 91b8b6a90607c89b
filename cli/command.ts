/** The definition of a command, and the reading of its arguments with Node's `parseArgs`. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { didYouMean } from "../schemas/suggest.ts";
import type { Terminal } from "./terminal.ts";

export interface Option {
  readonly type: "boolean" | "string";
  /** May be given several times. */
  readonly multiple?: boolean;
  readonly short?: string;
  /** Name of the value in the help: `NODE@TIME=FILE`. */
  readonly value?: string;
  readonly about: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Command {
  readonly name: string;
  /** First line of its help. */
  readonly about: string;
  /** The arguments: `GRAPH [SOURCE] [param=value…]`. */
  readonly usage: string;
  readonly options: Options;
  /** Paragraphs below the options, one per line. */
  readonly notes?: string;
  /** Complete command lines, without `windhover`. */
  readonly examples: readonly string[];
  /** Not affected by the workspace it runs in. */
  readonly standalone?: boolean;
  /** Options are passed on as arguments, unparsed. */
  readonly verbatim?: boolean;
  /** Resolves with the exit code. */
  run(given: Given, terminal: Terminal): Promise<number>;
}

/** 0 success, 1 failure, 2 an invalid graph or command line. */
export const EXIT = { ok: 0, failed: 1, refused: 2 } as const;

/** The command line is invalid. Shown without a stack; exit code 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** The command failed for a reason that the message explains. Shown without a stack; exit code 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
}

/** The parsed arguments of a command. */
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

  /** A number above 0. Throws `UsageFault`. */
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

export const HELP: Options = { help: { type: "boolean", short: "h", about: "Show this help." } };

/**
 * Throws `UsageFault` for unknown options and missing values. Not `strict` of `parseArgs`: its messages suggest no
 * similar option and do not name the expected value.
 */
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
  for (const token of tokens) if (token.kind === "option") checkOption(command, options, token);
  return new Given(positionals, values);
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
}

function checkOption(command: Command, options: Options, { name, rawName, value }: OptionToken): void {
  const option = options[name];
  if (option === undefined) {
    const hint = didYouMean(name, Object.keys(options), "--");
    throw new UsageFault(
      `${command.name} has no option ${rawName}${hint}\n  \`windhover help ${command.name}\` lists its options`,
    );
  }
  if (option.type === "boolean" && value !== undefined)
    throw new UsageFault(`${rawName} takes no value; received "${value}"`);
  // `--frames --quiet` is a forgotten value, not a value that begins with dashes.
  if (option.type === "string" && (value === undefined || value === "" || value.startsWith("--")))
    throw new UsageFault(`${rawName} needs a value: ${rawName} ${option.value ?? "VALUE"}`);
}

/** Throws `UsageFault` unless there are from `least` to `most` positional arguments. */
export function expectPositionals(given: Given, least: number, most: number, what: string): void {
  const { length } = given.positionals;
  if (length < least) throw new UsageFault(`missing: ${what}`);
  if (length > most) throw new UsageFault(`unexpected argument "${given.positionals[most]}"; expected ${what}`);
}
