/**
 * Expressions in graphs: CEL (Common Expression Language) without dates, bytes, maps, fields and regular expressions. A
 * text is compiled once, against declared variables, and then evaluated for every object. Values are numbers, texts and
 * truth values, so that no expression can reach an object, a prototype, a file, the network or a clock.
 *
 * Numbers are doubles, `8` as well as `8.0`. An unknown number is NaN: no comparison with it holds, and `known(x)` is false.
 */
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import type { Scalar, ValueType, Variables } from "../schemas/expression.ts";
import { ExpressionFault } from "./expression-fault.ts";
import { MAX_CHARS, MAX_DEPTH, MAX_ITEMS, MAX_NODES } from "./limits.ts";
import { restrict } from "./restrict.ts";

/** The values of the variables of one evaluation; only primitive values. */
export type View = { readonly [name: string]: Scalar };

export interface Expression {
  readonly text: string;
  readonly type: ValueType;
  /** Names of the variables in it. */
  readonly uses: readonly string[];
  /** `view` has at least the variables that it uses, each of its declared type. */
  evaluate(view: View): Scalar;
}

/** `result`: the type that it must have. Throws `ExpressionFault`. */
export function compileExpression(text: string, variables: Variables, result: ValueType | null = null): Expression {
  if (text.length > MAX_CHARS)
    throw new ExpressionFault(`the expression has ${text.length} characters`, 0, {
      expected: `at most ${MAX_CHARS}`,
    });
  if (text.trim() === "")
    throw new ExpressionFault("the expression is empty", 0, { expected: "such as `class_name == 'car'`" });
  const uses = restrict(guard(() => BASE.parse(text)).ast as ASTNode, variables);
  const parsed = declare(uses, variables).parse(text);
  restrict(parsed.ast as ASTNode, variables);
  const checked = parsed.check();
  if (!checked.valid) throw explain(checked.error);
  const type = TYPES.get(checked.type ?? "");
  if (type === undefined)
    throw new ExpressionFault(`the result is a ${checked.type}`, 0, { expected: "a number, a text or a truth value" });
  if (result !== null && result !== type)
    throw new ExpressionFault(`the result is a ${type}`, 0, { expected: IN_WORDS[result] });
  return { text, type, uses, evaluate: (view) => parsed(view) as Scalar };
}

const TYPES: ReadonlyMap<string, ValueType> = new Map([
  ["bool", "bool"],
  ["double", "number"],
  ["string", "text"],
]);
const IN_WORDS: Readonly<Record<ValueType, string>> = {
  bool: "a condition, such as `confidence > 0.5`",
  number: "a number",
  text: "a text",
};
const CEL_TYPES: Readonly<Record<ValueType, string>> = { bool: "bool", number: "double", text: "string" };

const BASE = new Environment({
  limits: {
    maxAstNodes: MAX_NODES,
    maxDepth: MAX_DEPTH,
    maxListElements: MAX_ITEMS,
    maxMapEntries: 1,
    maxCallArguments: 4,
  },
});
const SYNC = { async: false };
BASE.registerFunction("known(double): bool", (value: number) => !Number.isNaN(value), SYNC)
  .registerFunction("abs(double): double", Math.abs, SYNC)
  .registerFunction("round(double): double", Math.round, SYNC)
  .registerFunction("min(double, double): double", Math.min, SYNC)
  .registerFunction("max(double, double): double", Math.max, SYNC);

/** By their variables, as many expressions use the same; the oldest are dropped. */
const environments = new Map<string, Environment>();
const MAX_ENVIRONMENTS = 100;

/** With the variables that an expression uses: a graph may have many more. */
function declare(uses: readonly string[], variables: Variables): Environment {
  const key = uses.map((name) => `${name} ${variables[name]}`).join();
  const known = environments.get(key);
  if (known !== undefined) return known;
  const environment = BASE.clone();
  for (const name of uses) environment.registerVariable(name, CEL_TYPES[variables[name] ?? "number"]);
  const [oldest] = environments.keys();
  if (environments.size >= MAX_ENVIRONMENTS && oldest !== undefined) environments.delete(oldest);
  environments.set(key, environment);
  return environment;
}

function guard<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw explain(error);
  }
}

interface CelFault {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: { readonly start: number };
}

function explain(error: unknown): Error {
  if (error instanceof ExpressionFault) return error;
  const { code, summary, range } = error as CelFault;
  if (code === undefined || summary === undefined) return error instanceof Error ? error : new Error(String(error));
  return new ExpressionFault(inWords(code, summary), range?.start ?? 0);
}

function inWords(code: string, summary: string): string {
  if (summary === "Unexpected token: EOF") return "the expression ends too early";
  if (code === "limit_exceeded" || /^Exceeded max/.test(summary)) return "the expression is too long or too deep";
  const worded = summary.replaceAll(/\bdouble\b/g, "number").replaceAll(/\bstring\b/g, "text");
  return worded.charAt(0).toLowerCase() + worded.slice(1);
}
