/** Expected numbers of a graph test: `3`, `3..5`, `3..`, `..5`, `>=3`, `>3`, `<=5`, `<5`. */

export interface Range {
  readonly least: number;
  readonly most: number;
  /** Whether the limits themselves are excluded. */
  readonly above: boolean;
  readonly below: boolean;
  /** As written. */
  readonly text: string;
}

/** For messages. */
export const RANGE_FORMS = "a number, `3..5`, `3..`, `..5`, or with quotes `>=3`, `>3`, `<=5`, `<5`";

const SPAN = /^(\d{1,12}(?:\.\d{1,6})?)?\.\.(\d{1,12}(?:\.\d{1,6})?)?$/;
const COMPARISON = /^(>=|<=|>|<) {0,4}(\d{1,12}(?:\.\d{1,6})?)$/;

/** Null for anything else, and for a range that contains no number. */
export function readRange(value: unknown): Range | null {
  if (typeof value === "number" && value >= 0)
    return { least: value, most: value, above: false, below: false, text: String(value) };
  const text = typeof value === "string" ? value.trim() : "";
  const [, low, high] = SPAN.exec(text) ?? [];
  if (low !== undefined || high !== undefined) {
    const range = { least: Number(low ?? 0), most: Number(high ?? Number.POSITIVE_INFINITY) };
    return range.least > range.most ? null : { ...range, above: false, below: false, text };
  }
  const [, sign = "", limit] = COMPARISON.exec(text) ?? [];
  if (limit === undefined || text === "<0") return null;
  const number = Number(limit);
  const isLower = sign.startsWith(">");
  return {
    least: isLower ? number : 0,
    most: isLower ? Number.POSITIVE_INFINITY : number,
    above: sign === ">",
    below: sign === "<",
    text,
  };
}

export const isInRange = (value: number, { least, most, above, below }: Range): boolean =>
  (above ? value > least : value >= least) && (below ? value < most : value <= most);
