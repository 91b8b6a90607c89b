import { existsSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { didYouMean } from "../../schemas/suggest.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import type { Terminal } from "../terminal.ts";

const FOLDER = new URL("../bench/", import.meta.url);

/** Default export of `cli/bench/NAME.ts`: measures, prints a table, resolves with the exit code if it is not 0. */
export type Bench = (args: readonly string[], terminal: Terminal) => Promise<number | undefined> | Promise<void>;

export default {
  name: "bench",
  about: "Runs a measurement and prints its table.",
  usage: "NAME [argument…]",
  options: {},
  notes: `Benches: ${listBenches().join(", ")}.`,
  verbatim: true,
  examples: ["bench engine", "bench detect"],
  async run(given, terminal) {
    const [name, ...rest] = given.positionals;
    const names = listBenches();
    if (name === undefined || !names.includes(name)) {
      const problem = name === undefined ? "missing: the NAME of a bench" : `there is no bench "${name}"`;
      throw new UsageFault(`${problem}; there ${describe(names)}${didYouMean(name ?? "", names)}`);
    }
    const { default: bench }: { default: Bench } = await import(new URL(`${name}.ts`, FOLDER).href);
    return (await bench(rest, terminal)) ?? EXIT.ok;
  },
} satisfies Command;

const describe = (names: readonly string[]): string => (names.length === 0 ? "are none" : `is ${names.join(", ")}`);

function listBenches(): readonly string[] {
  if (!existsSync(FOLDER)) return [];
  const files = readdirSync(FOLDER).filter((file) => /^[a-z-]+\.ts$/.test(file));
  return files.map((file) => basename(file, ".ts")).sort();
}
