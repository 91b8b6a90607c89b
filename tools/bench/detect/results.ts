/** Measured values against their limits, as a table. */
import { padTo, widthOf } from "../../../cli/text.ts";
import { median } from "../engine.ts";

export type Limit = { readonly least: number } | { readonly most: number };

export interface Measured {
  readonly name: string;
  /** One a round. */
  readonly values: readonly number[];
  readonly limit: Limit;
}

export interface Result extends Measured {
  readonly value: number;
  readonly holds: boolean;
}

/** A value that is no number holds nothing. */
export const judge = (measured: readonly Measured[]): readonly Result[] =>
  measured.map((one) => {
    const value = median(one.values);
    return { ...one, value, holds: "least" in one.limit ? value >= one.limit.least : value <= one.limit.most };
  });

export function formatResults(results: readonly Result[]): readonly string[] {
  const rows = results.map(({ name, value, values, limit, holds }) => [
    name,
    value.toFixed(3),
    "least" in limit ? `≥ ${limit.least}` : `≤ ${limit.most}`,
    holds ? "ok" : "MISSED",
    values.length > 1 ? `${Math.min(...values).toFixed(3)} … ${Math.max(...values).toFixed(3)}` : "",
  ]);
  const all = [["what", "median", "limit", "", "of the rounds"], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? "")))) ?? [];
  return all.map((row) =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
