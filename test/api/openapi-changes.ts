/**
 * Compares two OpenAPI documents: what a client of the old one can no longer rely on, and what is new. As a program:
 *
 *   npm run compare:api -- OLD NEW     files or URLs; exits with 1 if the change is not additive
 *
 * Alternatives of a schema are merged: fields of any of them exist, and are required if all of them require it.
 */
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly pattern?: string;
  readonly format?: string;
  readonly [bound: string]: unknown;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses?: Readonly<Record<string, Content>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
  };
}

export interface Changes {
  /** `POST /start: body/wait is required`. */
  readonly breaking: readonly string[];
  readonly added: readonly string[];
}

export function compareDocuments(before: OpenApiDocument, after: OpenApiDocument): Changes {
  const comparison = new Comparison(before, after);
  for (const [path, methods] of Object.entries(before.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      if (now === undefined) comparison.breaking.push(`${name}: removed`);
      else comparison.compare(name, operation, now);
    }
  for (const [path, methods] of Object.entries(after.paths))
    for (const method of Object.keys(methods))
      if (before.paths[path]?.[method] === undefined) comparison.added.push(`${method.toUpperCase()} ${path}`);
  return { breaking: [...new Set(comparison.breaking)], added: [...new Set(comparison.added)] };
}

/** Of requests: everything that was accepted still is. Of answers: everything that was promised still is. */
type Direction = "request" | "answer";

/** The larger, the more is accepted; or the smaller. */
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];

interface Shape {
  readonly types: ReadonlySet<string>;
  /** Null: any value of the types. */
  readonly values: ReadonlySet<string> | null;
  readonly properties: ReadonlyMap<string, readonly Schema[]>;
  readonly required: ReadonlySet<string>;
  readonly items: readonly Schema[];
  readonly isOpen: boolean;
  /** Of a schema without alternatives. */
  readonly bounds: Readonly<Record<string, unknown>>;
}

const ANY = ["null", "boolean", "number", "string", "array", "object"];

class Comparison {
  readonly breaking: string[] = [];
  readonly added: string[] = [];
  readonly #before: OpenApiDocument;
  readonly #after: OpenApiDocument;
  /** Each pair of named schemas is compared once. */
  readonly #compared = new Set<string>();

  constructor(before: OpenApiDocument, after: OpenApiDocument) {
    this.#before = before;
    this.#after = after;
  }

  compare(name: string, before: Operation, after: Operation): void {
    this.#compareParameters(name, before, after);
    const [bodyBefore, bodyAfter] = [before.requestBody, after.requestBody];
    if (bodyAfter?.required === true && bodyBefore?.required !== true) this.breaking.push(`${name}: body is required`);
    this.#compareContent(`${name}: body`, bodyBefore, bodyAfter, "request");
    for (const [status, answer] of Object.entries(before.responses ?? {})) {
      const now = after.responses?.[status];
      if (now === undefined) this.breaking.push(`${name}: status ${status} removed`);
      else this.#compareContent(`${name}: ${status}`, answer, now, "answer");
    }
    for (const status of Object.keys(after.responses ?? {}))
      if (before.responses?.[status] === undefined) this.added.push(`${name}: status ${status}`);
  }

  #compareParameters(name: string, old: Operation, now: Operation): void {
    const [before, after] = [listParameters(old, this.#before), listParameters(now, this.#after)];
    for (const parameter of before) {
      const place = `${name}: ${parameter.in} ${parameter.name}`;
      const kept = after.find((other) => other.name === parameter.name && other.in === parameter.in);
      if (kept === undefined) this.breaking.push(`${place} removed`);
      else {
        if (kept.required === true && parameter.required !== true) this.breaking.push(`${place} is required`);
        this.#compareSchemas(place, [parameter.schema ?? {}], [kept.schema ?? {}], "request");
      }
    }
    for (const { name: added, in: where, required } of after) {
      if (before.some((other) => other.name === added && other.in === where)) continue;
      if (required === true) this.breaking.push(`${name}: ${where} ${added} is required`);
      else this.added.push(`${name}: ${where} ${added}`);
    }
  }

  #compareContent(place: string, before: Content | undefined, after: Content | undefined, direction: Direction): void {
    for (const [type, { schema }] of Object.entries(before?.content ?? {})) {
      const now = after?.content?.[type];
      if (now === undefined) this.breaking.push(`${place} ${type} removed`);
      else this.#compareSchemas(place, [schema ?? {}], [now.schema ?? {}], direction);
    }
    for (const type of Object.keys(after?.content ?? {}))
      if (before?.content?.[type] === undefined) this.added.push(`${place} ${type}`);
  }

  #compareSchemas(place: string, before: readonly Schema[], after: readonly Schema[], direction: Direction): void {
    const names = [before, after].map(([first, ...others]) => (others.length === 0 ? nameOf(first) : null));
    if (names.every((name) => name !== null)) {
      const key = `${direction} ${names.join(" ")}`;
      if (this.#compared.has(key)) return;
      this.#compared.add(key);
      this.#compareShapes(
        `${names[0]} in a${direction === "answer" ? "n" : ""} ${direction}`,
        before,
        after,
        direction,
      );
    } else this.#compareShapes(place, before, after, direction);
  }

  #compareShapes(place: string, before: readonly Schema[], after: readonly Schema[], direction: Direction): void {
    const [was, is] = [readShape(before, this.#before), readShape(after, this.#after)];
    const [wide, narrow] = direction === "request" ? [is, was] : [was, is];
    for (const type of narrow.types)
      if (!wide.types.has(type))
        this.breaking.push(direction === "request" ? `${place} cannot be ${type}` : `${place} can now be ${type}`);
    this.#compareValues(place, was, is, direction);
    if (direction === "request") this.#compareBounds(place, was, is);
    this.#compareFields(place, was, is, direction);
    if (was.items.length > 0 && is.items.length > 0) this.#compareSchemas(`${place}/*`, was.items, is.items, direction);
  }

  #compareValues(place: string, was: Shape, is: Shape, direction: Direction): void {
    if (is.values === null) {
      if (was.values !== null && direction === "answer") this.added.push(`${place}: any value`);
      return;
    }
    if (was.values === null) {
      if (direction === "request") this.breaking.push(`${place} is limited to ${[...is.values].join(", ")}`);
      return;
    }
    for (const value of was.values) if (!is.values.has(value)) this.breaking.push(`${place}: value ${value} removed`);
    for (const value of is.values) if (!was.values.has(value)) this.added.push(`${place}: value ${value}`);
  }

  #compareBounds(place: string, was: Shape, is: Shape): void {
    for (const [names, isNarrower] of [
      [UPPER, (a: number, b: number) => b < a],
      [LOWER, (a: number, b: number) => b > a],
    ] as const)
      for (const name of names) {
        const [a, b] = [was.bounds[name], is.bounds[name]];
        const isNew = a === undefined && typeof b === "number" && !(LOWER.includes(name) && b === 0);
        if (isNew || (typeof a === "number" && typeof b === "number" && isNarrower(a, b)))
          this.breaking.push(`${place}: ${name} ${b}, was ${a ?? "none"}`);
      }
    for (const name of ["pattern", "format"])
      if (is.bounds[name] !== undefined && is.bounds[name] !== was.bounds[name])
        this.breaking.push(`${place}: ${name} ${is.bounds[name]}, was ${was.bounds[name] ?? "none"}`);
  }

  #compareFields(place: string, was: Shape, is: Shape, direction: Direction): void {
    for (const [field, before] of was.properties) {
      const after = is.properties.get(field);
      if (after !== undefined) this.#compareSchemas(`${place}/${field}`, before, after, direction);
      else this.breaking.push(`${place}/${field} removed`);
    }
    for (const field of is.properties.keys()) if (!was.properties.has(field)) this.added.push(`${place}/${field}`);
    const [from, to, verdict] = direction === "request" ? [is, was, "is required"] : [was, is, "can be absent"];
    for (const field of from.required) {
      const isKnown = direction === "request" || is.properties.has(field);
      if (isKnown && !to.required.has(field)) this.breaking.push(`${place}/${field} ${verdict}`);
    }
    if (direction === "request" && was.isOpen && !is.isOpen && was.types.has("object"))
      this.breaking.push(`${place}: unknown fields are rejected`);
  }
}

const listParameters = ({ parameters = [] }: Operation, { components }: OpenApiDocument): readonly Parameter[] =>
  parameters.flatMap((each) =>
    "$ref" in each ? (components?.parameters?.[each.$ref.split("/").at(-1) ?? ""] ?? []) : [each],
  );

const nameOf = (schema: Schema | undefined): string | null => schema?.$ref?.split("/").at(-1) ?? null;

/** Of these alternatives, and those within them. */
function readShape(schemas: readonly Schema[], document: OpenApiDocument): Shape {
  const shapes = schemas.flatMap((schema) => listAlternatives(schema, document, new Set()));
  const properties = new Map<string, Schema[]>();
  for (const { properties: own = {} } of shapes)
    for (const [name, schema] of Object.entries(own)) properties.set(name, [...(properties.get(name) ?? []), schema]);
  const objects = shapes.filter((shape) => typesOf(shape).includes("object"));
  const values = shapes.map(valuesOf);
  return {
    types: new Set(shapes.flatMap(typesOf)),
    values: values.includes(null) ? null : new Set(values.flatMap((each) => each ?? [])),
    properties,
    required: new Set(
      (objects[0]?.required ?? []).filter((name) => objects.every(({ required = [] }) => required.includes(name))),
    ),
    items: shapes.flatMap(({ items, prefixItems = [] }) => [
      ...(typeof items === "object" ? [items] : []),
      ...prefixItems,
    ]),
    isOpen: objects.some(({ additionalProperties }) => additionalProperties !== false),
    bounds: shapes.length === 1 ? (shapes[0] ?? {}) : {},
  };
}

/** Without references and alternatives; parts of `allOf` are joined. */
function listAlternatives(schema: Schema, document: OpenApiDocument, seen: ReadonlySet<string>): readonly Schema[] {
  if (schema.$ref !== undefined) {
    if (seen.has(schema.$ref)) return [];
    const target = document.components?.schemas?.[nameOf(schema) ?? ""] ?? {};
    return listAlternatives(target, document, new Set([...seen, schema.$ref]));
  }
  const { anyOf, oneOf, allOf, ...own } = schema;
  const alternatives = [...(anyOf ?? []), ...(oneOf ?? [])];
  const parts = (allOf ?? []).flatMap((part) => listAlternatives(part, document, seen));
  const joined = parts.reduce(join, own as Schema);
  if (alternatives.length === 0) return [joined];
  return alternatives.flatMap((each) => listAlternatives(each, document, seen)).map((each) => join(joined, each));
}

const join = (a: Schema, b: Schema): Schema => ({
  ...a,
  ...b,
  ...((a.properties ?? b.properties) && { properties: { ...a.properties, ...b.properties } }),
  ...((a.required ?? b.required) && { required: [...(a.required ?? []), ...(b.required ?? [])] }),
});

function typesOf({ type, const: value, enum: values, properties, items }: Schema): readonly string[] {
  if (type !== undefined)
    return [type]
      .flat()
      .flatMap((each) => (each === "integer" ? ["integer"] : each === "number" ? ["number", "integer"] : [each]));
  if (value !== undefined) return [typeName(value)];
  if (values !== undefined) return [...new Set(values.map(typeName))];
  if (properties !== undefined) return ["object"];
  return items !== undefined ? ["array"] : [...ANY, "integer"];
}

const typeName = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;

function valuesOf({ const: value, enum: values, type }: Schema): readonly string[] | null {
  if (value !== undefined) return [JSON.stringify(value)];
  if (values !== undefined) return values.map((each) => JSON.stringify(each));
  return type === "null" ? ["null"] : null;
}

async function main([before = "", after = ""]: readonly string[]): Promise<void> {
  const read = async (place: string): Promise<OpenApiDocument> =>
    JSON.parse(/^https?:/.test(place) ? await (await fetch(place)).text() : await readFile(place, "utf8"));
  const { breaking, added } = compareDocuments(await read(before), await read(after));
  for (const line of breaking) console.log(`- ${line}`);
  console.log(`${breaking.length} changes are not additive, ${added.length} are`);
  process.exitCode = breaking.length > 0 ? 1 : 0;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
