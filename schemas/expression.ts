/** Types of values in expressions, and the variables that an expression of a graph may use. */
import { Type } from "typebox";

export type ValueType = "bool" | "number" | "text";
export type Scalar = boolean | number | string;

/** Variables by name. */
export type Variables = Readonly<Record<string, ValueType>>;

/** What an expression is evaluated for: every object of a frame, or the frame. */
export type ExpressionScope = "object" | "frame";

/** The variables at a node of a graph. Those of the frame are also available for its objects. */
export type NodeVariables = Readonly<Record<ExpressionScope, Variables>>;

/** Names of values that a graph defines. */
export const VALUE_NAME = "^[a-z][a-z0-9_]{0,63}$";

interface ExpressionOptions {
  readonly scope: ExpressionScope;
  /** Default: any type. */
  readonly result?: ValueType;
}

/** A property that is an expression: the compiler checks it with the variables that elements upstream provide. */
export const ExpressionText = ({ scope, result }: ExpressionOptions, options: object = {}) =>
  Type.String({
    minLength: 1,
    maxLength: 2000,
    ...options,
    expression: { scope, ...(result && { result }) },
  });
