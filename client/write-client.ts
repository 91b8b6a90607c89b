/** Generates the typed part of the client from the OpenAPI document: one method per operation. Pure. */

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

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

export interface OpenApi {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const HEAD = `/**
 * Every operation and every type of the API. Generated from the OpenAPI document by \`npm run generate\`; a test compares
 * it with the service. Do not edit.
 */
import type { Answer, Call, Transport } from "./transport.ts";
`;

export function writeClient(document: OpenApi): string {
  const types = Object.entries(document.components.schemas).map(
    ([name, schema]) => `${writeComment(schema.description, "")}export type ${name} = ${writeType(schema)};\n`,
  );
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => writeOperation(method.toUpperCase(), path, operation)),
  );
  return [
    HEAD,
    `export const API_VERSION = ${JSON.stringify(document.info.version)};\n`,
    ...types,
    "export class Operations {",
    "  readonly #send: Transport;\n",
    "  constructor(send: Transport) {\n    this.#send = send;\n  }\n",
    operations.join("\n"),
    "}\n",
  ].join("\n");
}

function writeOperation(method: string, path: string, operation: Operation): string {
  const { operationId, parameters = [], requestBody } = operation;
  const inPath = parameters.filter((one) => one.in === "path");
  const inQuery = parameters.filter((one) => one.in === "query");
  const [bodyType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const isForm = bodyType === "multipart/form-data";
  const isText = bodyType !== undefined && !isForm && bodyType !== "application/json";
  const fields = [
    ...inPath.map(({ name, schema }) => `${name}: ${writeType(schema)}`),
    ...inQuery.map(
      ({ name, schema, required }) => `${name}${required === true ? "" : "?"}: ${writeType(schema, "    ")}`,
    ),
    ...(bodyType === undefined
      ? []
      : [
          `body${requestBody?.required === true ? "" : "?"}: ${isForm ? "FormData" : isText ? "string" : writeType(body?.schema ?? {}, "    ")}`,
        ]),
  ];
  const mayBeEmpty = fields.every((field) => /^\w+\?:/.test(field));
  const answer = writeAnswer(operation.responses);
  const about = [operation.summary, operation.description, operation.deprecated === true ? "Deprecated." : undefined]
    .filter((text) => text !== undefined)
    .map((text) => (/[.!?]$/.test(text) ? text : `${text}.`))
    .join(" ");
  const names = [
    `method: ${JSON.stringify(method)}`,
    `path: ${JSON.stringify(path)}`,
    ...(inQuery.length > 0 ? [`query: [${inQuery.map(({ name }) => JSON.stringify(name)).join(", ")}]`] : []),
    ...(bodyType === undefined ? [] : [`bodyType: ${JSON.stringify(bodyType)}`]),
  ];
  const input = fields.length === 0 ? "" : `input: { ${fields.join("; ")} }${mayBeEmpty ? " = {}" : ""}, `;
  return `${writeComment(about, "  ")}  ${operationId}(${input}call?: Call): Promise<${answer}> {
    return this.#send({ ${names.join(", ")} }, ${fields.length === 0 ? "{}" : "input"}, call);
  }
`;
}

/** The type of the first success response that declares its content. */
function writeAnswer(responses: Operation["responses"]): string {
  const good = Object.entries(responses).filter(([status]) => /^2/.test(status));
  const shapes = good.flatMap(([, { content = {} }]) => Object.entries(content));
  const json = shapes.filter(([type]) => /\bjson\b/.test(type) && !type.includes("problem"));
  const types = [...new Set(json.map(([, { schema }]) => writeType(schema ?? {}, "  ")))];
  if (types.length > 0) return types.join(" | ");
  return shapes.some(([type]) => type.startsWith("text/plain") || type.startsWith("application/yaml"))
    ? "string"
    : "Answer";
}

/** Longer lists of fixed length are written as lists, not as tuples. */
const MAX_TUPLE_LENGTH = 8;

/** The TypeScript type of a JSON Schema; `unknown` for an empty schema. */
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

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

const unite = (types: readonly string[]): string => [...new Set(types)].join(" | ") || "never";

function writeList({ items = {}, minItems, maxItems }: Schema, indent: string): string {
  const item = writeType(items, indent);
  if (minItems !== undefined && minItems === maxItems && minItems <= MAX_TUPLE_LENGTH)
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

/** Union of the types that conditions (`if`, `then`) give a property; null when no condition mentions it. */
function writeConditional(name: string, conditions: readonly Schema[], indent: string): string | null {
  const schemas = conditions.flatMap(({ then }) => then?.properties?.[name] ?? []);
  return schemas.length === 0 ? null : unite(schemas.map((schema) => writeType(schema, indent)));
}

const quote = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function writeComment(text: string | undefined, indent: string): string {
  if (text === undefined) return "";
  return `${indent}/** ${text
    .replaceAll("*/", "*\\/")
    .split(/\n\s*/)
    .map((line) => line.trimEnd())
    .join(" ")} */\n`;
}
