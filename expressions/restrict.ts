/**
 * What of CEL an expression may use, and how many steps it takes. CEL has no recursion and no unbounded loop: the number of
 * steps follows from the text, as a loop (`all`, `exists`, `exists_one`) runs over a list that is written in it. So a limit
 * of steps is a fault of the text, and an evaluation never has to be stopped.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Variables } from "../schemas/expression.ts";
import { suggest } from "../schemas/suggest.ts";
import { ExpressionFault } from "./expression-fault.ts";
import { MAX_STEPS } from "./limits.ts";

const FUNCTIONS = ["known", "abs", "round", "min", "max", "string"];
const METHODS = ["startsWith", "endsWith", "contains", "lowerAscii", "upperAscii"];
const LOOPS = ["all", "exists", "exists_one"];
const OPERATORS = new Set(["!=", "==", "in", "+", "-", "*", "/", "<", "<=", ">", ">=", "&&", "||"]);

interface Scope {
  readonly variables: Variables;
  /** Variables of the loops around. */
  readonly own: ReadonlySet<string>;
  readonly uses: Set<string>;
}

/** The variables that it uses. Turns whole numbers into doubles, in place: all numbers are. */
export function restrict(root: ASTNode, variables: Variables): readonly string[] {
  const uses = new Set<string>();
  const steps = count(root, { variables, own: new Set(), uses });
  if (steps > MAX_STEPS)
    throw new ExpressionFault(`the expression may take ${steps} steps`, 0, { expected: `at most ${MAX_STEPS}` });
  return [...uses];
}

/** Steps of a node with those below it. */
function count(node: ASTNode, scope: Scope): number {
  switch (node.op) {
    case "value":
      return countValue(node);
    case "id":
      return countVariable(node.args, node.start, scope);
    case "list":
      return 1 + sum(node.args, scope);
    case "!_":
    case "-_":
      return 1 + count(node.args, scope);
    case "?:":
      return 1 + sum(node.args, scope);
    case "call":
      return countCall(node.args[0], node.args[1], node.start, scope);
    case "rcall":
      return countMethod(node.args, node.start, scope);
    default:
      if (!OPERATORS.has(node.op)) throw unsupported(node);
      return 1 + (node.op === "in" ? sizeOf(node.args[1] as ASTNode) : 0) + sum(node.args as readonly ASTNode[], scope);
  }
}

const sum = (nodes: readonly ASTNode[], scope: Scope): number =>
  nodes.reduce((total, node) => total + count(node, scope), 0);

function countValue(node: Extract<ASTNode, { op: "value" }>): number {
  const { args } = node;
  if (typeof args === "bigint") (node as { args: unknown }).args = Number(args);
  else if (typeof args !== "number" && typeof args !== "string" && typeof args !== "boolean")
    throw new ExpressionFault("not a number, a text or a truth value", node.start);
  return 1;
}

function countVariable(name: string, start: number, { variables, own, uses }: Scope): number {
  if (own.has(name)) return 1;
  if (!Object.hasOwn(variables, name)) throw unknownName("variable", name, start, Object.keys(variables));
  uses.add(name);
  return 1;
}

function countCall(name: string, args: readonly ASTNode[], start: number, scope: Scope): number {
  if (!FUNCTIONS.includes(name)) throw unknownName("function", name, start, FUNCTIONS);
  return 1 + sum(args, scope);
}

function countMethod(
  [name, receiver, args]: Extract<ASTNode, { op: "rcall" }>["args"],
  start: number,
  scope: Scope,
): number {
  if (METHODS.includes(name)) return 1 + count(receiver, scope) + sum(args, scope);
  if (!LOOPS.includes(name)) throw unknownName("function", name, start, [...METHODS, ...LOOPS]);
  const [each, condition] = args;
  if (args.length !== 2 || each?.op !== "id" || condition === undefined)
    throw new ExpressionFault(`${name}() has other arguments`, start, {
      expected: `a variable and a condition: \`['a', 'b'].${name}(x, class_name.startsWith(x))\``,
    });
  const inner = { ...scope, own: new Set([...scope.own, each.args]) };
  return 1 + count(receiver, scope) + sizeOf(receiver) * (1 + count(condition, inner));
}

/** Items of a list in brackets, or of several that are added. */
function sizeOf(node: ASTNode): number {
  if (node.op === "list") return node.args.length;
  if (node.op === "+") return sizeOf(node.args[0]) + sizeOf(node.args[1]);
  throw new ExpressionFault("not a list", node.start, { expected: "a list in brackets, such as `['car', 'truck']`" });
}

function unsupported(node: ASTNode): ExpressionFault {
  if (node.op === "." || node.op === "[]")
    return new ExpressionFault("values have no fields and no items", node.pos, {
      expected: "a variable by its name alone",
    });
  const what = node.op === "%" ? "the operator %" : "this syntax";
  return new ExpressionFault(`${what} is not supported in expressions`, node.start, {
    expected: [...OPERATORS].join(" "),
  });
}

function unknownName(what: string, name: string, start: number, known: readonly string[]): ExpressionFault {
  return new ExpressionFault(`unknown ${what} \`${name}\``, start, {
    expected: known.join(", ") || `no ${what}`,
    ...(what === "variable" && { unknown: name }),
    suggestion: suggest(name, known),
  });
}
