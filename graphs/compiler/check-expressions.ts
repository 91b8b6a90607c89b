/** Checks expressions with the variables that elements upstream provide. */
import { compileExpression } from "../../expressions/expression.ts";
import { ExpressionFault } from "../../expressions/expression-fault.ts";
import { inScope, isBuiltIn, metadataOf } from "../../expressions/variables.ts";
import type { ExpressionScope, NodeVariables, ValueType } from "../../schemas/expression.ts";
import { listChoices } from "./describe.ts";
import type { Resolution, ResolvedStep } from "./resolve-steps.ts";

/** Reports the faults of a step's expressions. */
export function checkExpressions(step: ResolvedStep, variables: NodeVariables, resolution: Resolution): void {
  for (const expression of step.expressions) {
    const { property, text, scope, result } = expression;
    const where = `${step.element}.${property}`;
    try {
      compileExpression(text, inScope(variables, scope), result);
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      const missing = explainMissing(error, scope, variables, resolution);
      const { message, expected, suggestion } = missing ?? error;
      resolution.faults.add("bad_expression", expression.locate(error.start), `${where}: ${message}`, {
        expected,
        suggestion,
      });
    }
  }
}

interface Explanation {
  readonly message: string;
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
}

/** For a variable that exists, but not at this point of the graph. */
function explainMissing(
  { unknown, expected }: ExpressionFault,
  scope: ExpressionScope,
  variables: NodeVariables,
  { elements }: Resolution,
): Explanation | null {
  if (unknown === undefined) return null;
  const key = metadataOf(unknown);
  if (scope === "frame" && (key !== null || Object.hasOwn(variables.object, unknown)))
    return { message: `\`${unknown}\` is a value of an object, not of the frame`, expected };
  if (key === null) return null;
  const writers = [...elements.values()].filter(({ writes }) => writes?.includes(key)).map(({ name }) => `\`${name}\``);
  return { message: `\`${unknown}\` needs ${listChoices(writers)} upstream` };
}

/** The values of the graph after a step: those before it, and those that it computes. Faults of names are reported. */
export function computeValues(
  step: ResolvedStep,
  variables: NodeVariables,
  before: NodeVariables,
  { faults }: Resolution,
): NodeVariables {
  const after = { object: { ...before.object }, frame: { ...before.frame } };
  for (const { name, scope, type } of step.values) {
    if (isBuiltIn(name) || Object.hasOwn({ ...after.object, ...after.frame }, name)) {
      faults.add("bad_expression", step.at, `${step.element} defines \`${name}\`, which exists already`, {
        expected: "another name",
      });
      continue;
    }
    const found = typeof type === "string" ? type : typeOf(type.expression, inScope(variables, scope));
    if (found !== null) after[scope][name] = found;
  }
  return after;
}

/** Null for an expression with a fault, which is reported elsewhere. */
function typeOf(text: string, variables: NodeVariables["object"]): ValueType | null {
  try {
    return compileExpression(text, variables).type;
  } catch (error) {
    if (error instanceof ExpressionFault) return null;
    throw error;
  }
}
