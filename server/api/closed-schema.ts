/**
 * The schema of a JSON body, closed: a misspelt field is a fault, at any depth, never silently without effect. Objects that
 * say otherwise themselves (`additionalProperties`), and those without declared fields, stay as they are.
 */
import type { TSchema } from "typebox";

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const OPENNESS = ["additionalProperties", "unevaluatedProperties", "patternProperties"];

export const closeSchema = <S extends TSchema>(schema: S): S => close(schema) as S;

function close(value: unknown): unknown {
  if (!isSchema(value)) return value;
  const closed = closeWithin(value);
  const { properties } = closed;
  const isOpen = !isSchema(properties) || Object.keys(properties).length === 0;
  return isOpen || OPENNESS.some((keyword) => keyword in closed) ? closed : { ...closed, additionalProperties: false };
}

/** Conditions (`allOf`, `then`) add to the fields of the object that they are part of: only what is below is closed. */
function closeWithin(schema: Schema): Schema {
  const closed: Record<string, unknown> = { ...schema };
  for (const keyword of ["items", "additionalProperties"])
    if (keyword in closed) closed[keyword] = close(closed[keyword]);
  for (const keyword of ["anyOf", "oneOf"])
    if (Array.isArray(closed[keyword])) closed[keyword] = closed[keyword].map(close);
  for (const keyword of ["properties", "patternProperties"]) {
    const named = closed[keyword];
    if (isSchema(named))
      closed[keyword] = Object.fromEntries(Object.entries(named).map(([name, inner]) => [name, close(inner)]));
  }
  if (Array.isArray(closed.allOf))
    closed.allOf = closed.allOf.map((part) => (isSchema(part) ? closeWithin(part) : part));
  for (const keyword of ["then", "else"]) {
    const condition = closed[keyword];
    if (isSchema(condition)) closed[keyword] = closeWithin(condition);
  }
  return closed;
}
