/** Tables of the fields of JSON bodies, from their schemas. Pure. */
import { code, table } from "./markdown.ts";
import type { Schema } from "./open-api.ts";

/** How deep the fields of objects within objects are listed. */
const DEPTH = 2;

/** Empty if the schema has no fields of its own. */
export function writeFields(schema: Schema): string {
  const rows = listFields(schema, "", DEPTH);
  return rows.length === 0 ? "" : table(["Field", "Type", "Description"], rows);
}

function listFields(schema: Schema, prefix: string, depth: number): readonly string[][] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, given]) => {
    const field = isTyped(given) ? given : { ...given, ...findConditional(schema, name) };
    const shown = field.default === undefined ? "" : ` Default: ${code(JSON.stringify(field.default))}.`;
    const type = `${writeType(field)}${required.includes(name) ? "" : ", optional"}`;
    const inner = depth > 1 ? findObject(field) : null;
    return [
      [code(prefix + name), type, `${field.description ?? ""}${shown}`.trim()],
      ...(inner === null ? [] : listFields(inner.schema, `${prefix}${name}${inner.isList ? "[]" : ""}.`, depth - 1)),
    ];
  });
}

const isTyped = ({ $ref, type, const: value, enum: values, anyOf }: Schema): boolean =>
  [$ref, type, value, values, anyOf].some((part) => part !== undefined);

/** The types of a field whose type depends on another field. */
function findConditional({ allOf = [] }: Schema, name: string): Schema {
  const found = allOf.flatMap(({ then }) => then?.properties?.[name] ?? []);
  // A constant only narrows the type that the field has elsewhere.
  const types = found.some((one) => one.const === undefined) ? found.filter((one) => one.const === undefined) : found;
  return types.length === 0 ? {} : { anyOf: types };
}

/** An object that is written inline, also as the items of a list or as one that can be null. */
function findObject(schema: Schema): { readonly schema: Schema; readonly isList: boolean } | null {
  const [first, ...others] = (schema.anyOf ?? [schema]).filter(({ type }) => type !== "null");
  if (first === undefined || others.length > 0) return null;
  if (first.properties !== undefined) return { schema: first, isList: false };
  return first.items?.properties === undefined ? null : { schema: first.items, isList: true };
}

const nameOf = ({ $ref = "" }: Schema): string => $ref.split("/").at(-1) ?? "";

/** `list of [Source](#type-source), or null` */
export function writeType(schema: Schema): string {
  if (schema.$ref !== undefined) return `[${nameOf(schema)}](#type-${nameOf(schema).toLowerCase()})`;
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(writeType))].join(" or ");
  if (schema.type === "array") return schema.items === undefined ? "list" : `list of ${writeType(schema.items)}`;
  return [schema.type ?? "any"].flat().join(" or ");
}
