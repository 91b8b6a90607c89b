/** Reads metrics and labels of a PromQL expression: the part of the language that the dashboard uses. */

export interface Selection {
  readonly metric: string;
  /** Labels of its selector. */
  readonly labels: readonly string[];
}

export interface Query {
  readonly selections: readonly Selection[];
  /** Labels of `by` and `without`. */
  readonly groupedBy: readonly string[];
}

const TOKEN =
  /\s+|(?<text>"[^"]*")|(?<variable>\$\w+)|(?<number>\d+(\.\d+)?(ms|[smhdwy])?)|(?<word>[A-Za-z_:][\w:]*)|(?<sign>=~|!~|!=|[-+*/(){}[\],=<>])/y;
const GROUPING = new Set(["by", "without"]);
const OPERATORS = new Set(["and", "or", "unless", "on", "ignoring", "bool", "offset"]);

interface Token {
  readonly kind: "text" | "variable" | "number" | "word" | "sign";
  readonly text: string;
}

export function readQuery(expression: string): Query {
  const tokens = split(expression);
  const selections: Selection[] = [];
  const groupedBy: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as Token;
    if (kind !== "word" || OPERATORS.has(text)) continue;
    const next = tokens[at + 1]?.text;
    if (GROUPING.has(text)) {
      groupedBy.push(...wordsUntil(tokens, at + 1, ")"));
      at = findSign(tokens, at, ")");
    } else if (next === "{") {
      selections.push({ metric: text, labels: wordsUntil(tokens, at + 1, "}") });
      at = findSign(tokens, at, "}");
    } else if (next !== "(" && !GROUPING.has(next ?? "")) selections.push({ metric: text, labels: [] });
  }
  return { selections, groupedBy };
}

function split(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(expression)?.groups;
    if (groups === undefined) throw new Error(`unexpected token in PromQL: "${expression.slice(at)}"`);
    for (const kind of ["text", "variable", "number", "word", "sign"] as const)
      if (groups[kind] !== undefined) tokens.push({ kind, text: groups[kind] });
  }
  return tokens;
}

function findSign(tokens: readonly Token[], from: number, sign: string): number {
  const at = tokens.findIndex(({ text }, index) => index > from && text === sign);
  if (at === -1) throw new Error(`"${sign}" is missing`);
  return at;
}

const wordsUntil = (tokens: readonly Token[], from: number, sign: string): readonly string[] =>
  tokens
    .slice(from, findSign(tokens, from, sign))
    .filter(({ kind }) => kind === "word")
    .map(({ text }) => text);
