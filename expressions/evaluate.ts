/** Expressions of a running graph: compiled once, evaluated for the frame or for each of its objects. */
import type { Counts, Detection, Track, Values } from "../schemas/detections.ts";
import type { ExpressionScope, NodeVariables, Scalar, ValueType } from "../schemas/expression.ts";
import type { Json } from "../schemas/json.ts";
import type { Place } from "../schemas/places.ts";
import { compileExpression, type Expression } from "./expression.ts";
import { ExpressionFault } from "./expression-fault.ts";
import { FRAME_VARIABLES, type FrameSource, inScope, NO_VALUES, OBJECT_VARIABLES } from "./variables.ts";

export interface EvaluatedFrame extends FrameSource {
  readonly meta: { readonly [key: string]: Json };
}

interface Options {
  readonly scope: ExpressionScope;
  /** Of the node, from the compiler. */
  readonly variables: NodeVariables | undefined;
  /** Default: any type. */
  readonly result?: ValueType;
}

type Read = (object: Detection | Track | null, place: Place | null, frame: EvaluatedFrame) => Scalar;

/** An expression with readers for its variables. One view is reused for all evaluations: nothing can keep it. */
export class FrameExpression {
  readonly #expression: Expression;
  readonly #names: readonly string[];
  readonly #readers: readonly Read[];
  readonly #view: Record<string, Scalar> = Object.create(null);

  /** Throws for a text that does not fit the variables of the node. */
  constructor(text: string, { scope, variables = NO_VALUES, result }: Options) {
    const known = inScope(variables, scope);
    this.#expression = compile(text, known, result);
    this.#names = this.#expression.uses;
    this.#readers = this.#names.map((name) => {
      const isOfObject = scope === "object" && Object.hasOwn(variables.object, name);
      return readerOf(name, isOfObject, known[name] ?? "number");
    });
  }

  get type(): ValueType {
    return this.#expression.type;
  }

  /** `object` is null for an expression of the frame. */
  evaluate(object: Detection | Track | null, place: Place | null, frame: EvaluatedFrame): Scalar {
    for (let i = 0; i < this.#names.length; i++)
      this.#view[this.#names[i] as string] = (this.#readers[i] as Read)(object, place, frame);
    return this.#expression.evaluate(this.#view);
  }
}

function compile(text: string, variables: NodeVariables["object"], result: ValueType | undefined): Expression {
  try {
    return compileExpression(text, variables, result);
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error;
    const { message, start, expected } = error;
    const hint = expected === undefined ? "" : ` (expected ${expected})`;
    throw new Error(`character ${start + 1}: ${message}${hint}`, { cause: error });
  }
}

/** Values of the graph are not on every object: one may have appeared after the element that sets them. */
const UNKNOWN: Readonly<Record<ValueType, Scalar>> = { bool: false, number: Number.NaN, text: "" };

function readerOf(name: string, isOfObject: boolean, type: ValueType): Read {
  const unknown = UNKNOWN[type];
  if (isOfObject) {
    const built = Object.hasOwn(OBJECT_VARIABLES, name) ? OBJECT_VARIABLES[name] : undefined;
    if (built === undefined) return (object) => object?.values?.[name] ?? unknown;
    const { read } = built;
    return (object, place) => (object === null ? unknown : read(object, place));
  }
  const built = Object.hasOwn(FRAME_VARIABLES, name) ? FRAME_VARIABLES[name] : undefined;
  if (built !== undefined) return (_, __, frame) => built.read(frame);
  return (_, __, { meta }) => {
    const { values, counts } = meta as { readonly values?: Values; readonly counts?: Counts };
    return values?.[name] ?? counts?.[name]?.total ?? unknown;
  };
}
