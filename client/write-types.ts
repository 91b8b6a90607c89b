/** From JSON Schema as our OpenAPI document has it to types of TypeScript. Pure. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly then?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly description?: string;
}

/** Longer lists are told as lists, not one by one. */
const MOST_LISTED = 8;

/** The type as text; what a schema does not say is `unknown`. */
export function writeType(schema: Schema, indent = ""): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return unite(schema.enum.map((value) => JSON.stringify(value)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return unite(choices.map((choice) => writeType(choice, indent)));
  if (Array.isArray(schema.type))
    return unite(schema.type.map((type: string) => writeType({ ...schema, type }, indent)));
  if (schema.type === "array") return writeList(schema, indent);
  if (schema.type === "object" || schema.properties !== undefined) return writeObject(schema, indent);
  return PLAIN[String(schema.type)] ?? "unknown";
}

const PLAIN: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};

export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

const unite = (types: readonly string[]): string => [...new Set(types)].join(" | ") || "never";

function writeList({ items = {}, minItems, maxItems }: Schema, indent: string): string {
  const item = writeType(items, indent);
  if (minItems !== undefined && minItems === maxItems && minItems <= MOST_LISTED)
    return `readonly [${Array.from({ length: minItems }, () => item).join(", ")}]`;
  return `readonly ${/\||^readonly /.test(item) ? `(${item})` : item}[]`;
}

function writeObject(schema: Schema, indent: string): string {
  const inner = `${indent}  `;
  const needed = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const type = writeConditional(name, schema.allOf ?? [], inner) ?? writeType(property, inner);
    return `${writeComment(property.description, inner)}${inner}readonly ${quote(name)}${needed.has(name) ? "" : "?"}: ${type};\n`;
  });
  const [others] = Object.values(schema.patternProperties ?? {});
  const rest = others ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
  if (lines.length === 0) {
    if (rest === undefined && schema.additionalProperties === false) return "Readonly<Record<string, never>>";
    return `Readonly<Record<string, ${rest === undefined ? "unknown" : writeType(rest, indent)}>>`;
  }
  return `{\n${lines.join("")}${indent}}`;
}

/** What a property may be that only conditions (`if`, `then`) tell of: one of what they say. Null: they say nothing of it. */
function writeConditional(name: string, conditions: readonly Schema[], indent: string): string | null {
  const told = conditions.flatMap(({ then }) => then?.properties?.[name] ?? []);
  return told.length === 0 ? null : unite(told.map((schema) => writeType(schema, indent)));
}

const quote = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

export function writeComment(text: string | undefined, indent: string): string {
  if (text === undefined) return "";
  return `${indent}/** ${text
    .replaceAll("*/", "*\\/")
    .split(/\n\s*/)
    .map((line) => line.trimEnd())
    .join(" ")} */\n`;
}
