/** Expressions in properties of TypeScript elements, as their author wrote them, and metadata that depends on properties. */
import type { AnyElement, ComputedValue, ExpandedNode, Read } from "../../elements/element.ts";
import type { ExpressionScope, ValueType } from "../../schemas/expression.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { PreparedStep } from "./apply-params.ts";
import { findLocated, type Located, locate } from "./located.ts";
import type { Position } from "./plan.ts";
import { completeProperties, findElementProperty, missingProperties } from "./properties.ts";

/** An expression as its author wrote it. */
export interface WrittenExpression {
  /** `where`, `set.fast`. */
  readonly property: string;
  readonly text: string;
  readonly scope: ExpressionScope;
  readonly result: ValueType | null;
  /** The position of a character of the text. */
  locate(offset: number): Position;
}

/** Those whose value is known. */
export function listExpressions(step: PreparedStep, definition: AnyElement): readonly WrittenExpression[] {
  return step.properties.flatMap(({ name, value, written, unknown }) => {
    const schema = findElementProperty(definition, name) as JsonRecord | undefined;
    return schema === undefined || unknown ? [] : find(schema, value, written, [], name);
  });
}

function find(
  schema: JsonRecord,
  value: Json,
  written: Located,
  path: readonly string[],
  name: string,
): readonly WrittenExpression[] {
  const { expression, anyOf, patternProperties } = schema;
  if (expression !== undefined && typeof value === "string") {
    const { scope, result = null } = expression as { scope: ExpressionScope; result?: ValueType };
    const property = [name, ...path].join(".");
    return [{ property, text: value, scope, result, locate: (offset) => locateText(written, path, value, offset) }];
  }
  if (Array.isArray(anyOf)) return anyOf.flatMap((variant) => find(variant as JsonRecord, value, written, path, name));
  if (typeof value !== "object" || value === null || Array.isArray(value) || patternProperties === undefined) return [];
  const [inner] = Object.values(patternProperties as Readonly<Record<string, JsonRecord>>);
  if (inner === undefined) return [];
  return Object.entries(value).flatMap(([key, item]) => find(inner, item, written, [...path, key], name));
}

/** Of the text as a whole where it is not the author's, but that of a parameter. */
function locateText(written: Located, path: readonly string[], text: string, offset: number): Position {
  const found = findLocated(written, path);
  const isOwn = found?.kind === "scalar" && found.value === text && found.inside !== undefined;
  return isOwn ? (found.inside?.(offset) ?? found.at) : locate(written, path);
}

interface FromProperties {
  readonly reads: readonly Read[];
  /** Values that it computes for expressions downstream. */
  readonly values: readonly ComputedValue[];
  /** GStreamer elements that are linked behind it. */
  readonly behind: readonly ExpandedNode[];
}

/** What depends on its properties; nothing while a required one is unknown. */
export function readDefinition(definition: AnyElement, properties: JsonRecord): FromProperties {
  const { reads = [] } = definition;
  if (missingProperties(definition, Object.keys(properties)).length > 0) return { reads, values: [], behind: [] };
  const complete = completeProperties(definition, properties);
  return {
    reads: [...reads, ...(definition.needs?.(complete) ?? [])],
    values: definition.values?.(complete) ?? [],
    behind: definition.kind === "transform" ? (definition.behind?.(complete) ?? []) : [],
  };
}
