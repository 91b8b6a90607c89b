/** Lower limits of a command line: `agreement=0.95,fps=5`. */
import { UsageFault } from "../../cli/command.ts";
import { didYouMean } from "../../schemas/suggest.ts";

export type Floors = ReadonlyMap<string, number>;

/** @param names of the measures that can be limited; shares are from 0 to 1, `open` ones any number above 0 */
export function readFloors(
  option: string,
  text: string | undefined,
  names: readonly string[],
  open: readonly string[],
): Floors {
  const floors = new Map<string, number>();
  for (const part of text?.split(",") ?? []) {
    const [name = "", value = ""] = part.split(/=(.*)/s).map((word) => word.trim());
    if (!names.includes(name))
      throw new UsageFault(
        `--${option} has "${name}"; expected name=number of ${names.join(", ")}${didYouMean(name, names)}`,
      );
    const number = value === "" ? Number.NaN : Number(value);
    const isOpen = open.includes(name);
    if (!(number > 0 && number <= (isOpen ? 1e9 : 1)))
      throw new UsageFault(
        `--${option} has ${name}="${value}"; expected a number above 0${isOpen ? "" : " and up to 1"}`,
      );
    if (floors.has(name)) throw new UsageFault(`--${option} has ${name} twice`);
    floors.set(name, number);
  }
  return floors;
}

/** `agreement is 0.91, below 0.95`, for each measure that is below its limit. */
export function listShortfalls(floors: Floors, measures: Readonly<Record<string, number | null>>): readonly string[] {
  return [...floors].flatMap(([name, least]) => {
    const value = measures[name] ?? null;
    if (value !== null && value >= least) return [];
    return [`${name} is ${value === null ? "not known" : Number(value.toFixed(3))}, below ${least}`];
  });
}
