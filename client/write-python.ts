/** Generates the typed part of the Python client from the OpenAPI document, with and without async. Pure. */
import type { OpenApi, Operation, Schema } from "./write-client.ts";

const HEAD = `"""Every operation and every type of the API.

Generated from the OpenAPI document by \`npm run generate\`; a test compares it with the service. Do not edit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from .transport import Answer, Form, Route
`;

export function writePython({ info, components, paths }: OpenApi): string {
  const types = new Types(components.schemas);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describe(method.toUpperCase(), path, operation, types)),
  );
  types.addNamed();
  return [
    HEAD,
    `API_VERSION = ${JSON.stringify(info.version)}\n`,
    ...types.classes.map((text) => `\n${text}`),
    writeClass("Operations", "Callable[[Route, dict[str, Any], float | None], Any]", operations, ["def", "return"]),
    writeClass("AsyncOperations", "Callable[[Route, dict[str, Any], float | None], Awaitable[Any]]", operations, [
      "async def",
      "return await",
    ]),
  ].join("\n");
}

interface Method {
  readonly name: string;
  readonly about: string;
  readonly positional: readonly string[];
  readonly keyword: readonly string[];
  readonly answer: string;
  readonly route: string;
  readonly values: string;
}

function describe(method: string, path: string, operation: Operation, types: Types): Method {
  const { operationId, parameters = [], requestBody, summary, description, deprecated } = operation;
  const kind = toPascal(operationId);
  const inPath = parameters.filter((one) => one.in === "path");
  const inQuery = parameters.filter((one) => one.in === "query");
  const [bodyType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const isNeeded = requestBody?.required === true;
  const argument = (name: string, type: string, needed: boolean) =>
    needed ? `${toSafe(name)}: ${type}` : `${toSafe(name)}: ${orNone(type)} = None`;
  const query = inQuery.map(({ name, schema, required }) =>
    argument(name, types.write(schema, kind + toPascal(name)), required === true),
  );
  const bodies =
    bodyType === undefined ? [] : [argument("body", writeBody(bodyType, body?.schema ?? {}, kind, types), isNeeded)];
  const names = [...inPath, ...inQuery].map(({ name }) => name).concat(bodyType === undefined ? [] : ["body"]);
  const queried = inQuery.map(({ name }) => `${JSON.stringify(name)},`).join(" ");
  return {
    name: toSnake(operationId),
    about: [summary, description, deprecated === true ? "Deprecated." : undefined]
      .filter((text) => text !== undefined)
      .map((text) => (/[.!?]$/.test(text) ? text : `${text}.`))
      .join(" "),
    positional: inPath.map(({ name, schema }) => argument(name, types.write(schema, kind + toPascal(name)), true)),
    keyword: [...query, ...bodies],
    answer: writeAnswer(operation.responses, kind, types),
    route: [
      JSON.stringify(method),
      JSON.stringify(path),
      ...(inQuery.length > 0 ? [`query=(${queried})`] : []),
      ...(bodyType === undefined ? [] : [`body_type=${JSON.stringify(bodyType)}`]),
    ].join(", "),
    values: `{${names.map((name) => `${JSON.stringify(name)}: ${toSafe(name)}`).join(", ")}}`,
  };
}

function writeBody(type: string, schema: Schema, kind: string, types: Types): string {
  if (type === "multipart/form-data") return "Form";
  return type === "application/json" ? types.write(schema, `${kind}Body`) : "str | bytes";
}

function writeAnswer(responses: Operation["responses"], kind: string, types: Types): string {
  const good = Object.entries(responses).filter(([status]) => /^2/.test(status));
  const shapes = good.flatMap(([, { content = {} }]) => Object.entries(content));
  const json = shapes.filter(([type]) => /\bjson\b/.test(type) && !type.includes("problem"));
  if (json.length > 0) return unite(json.map(([, { schema }]) => types.write(schema ?? {}, `${kind}Answer`)));
  return shapes.some(([type]) => type.startsWith("text/plain") || type.startsWith("application/yaml"))
    ? "str"
    : "Answer";
}

/** Objects become classes, also those inside of others: a `TypedDict` has no anonymous form. */
class Types {
  readonly classes: string[] = [];
  readonly #named: Readonly<Record<string, Schema>>;
  /** By the name of the class: two objects of the same name and shape share it. */
  readonly #shapes: Map<string, string>;
  readonly #written = new Set<string>();

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = named;
    this.#shapes = new Map(Object.entries(named).map(([name, schema]) => [name, JSON.stringify(schema)]));
  }

  /** The schemas with names in the document. */
  addNamed(): void {
    for (const [name, schema] of Object.entries(this.#named))
      if (hasFields(schema)) this.#addClass(name, schema);
      else this.classes.push(`${name}: TypeAlias = ${JSON.stringify(this.write(schema, name))}\n`);
  }

  /** The annotation of a JSON Schema. `name` is that of a class that it may need. */
  write(schema: Schema, name: string): string {
    if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    if (schema.const !== undefined) return writeLiteral([schema.const]);
    if (schema.enum !== undefined) return writeLiteral(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return unite(choices.map((choice) => this.write(choice, name)));
    if (Array.isArray(schema.type))
      return unite(schema.type.map((type: string) => this.write({ ...schema, type }, name)));
    if (schema.type === "array") return `list[${this.write(schema.items ?? {}, name)}]`;
    if (hasFields(schema)) return this.#addClass(name, schema);
    if (schema.type === "object") return this.#writeMap(schema, name);
    return PLAIN[String(schema.type)] ?? "Any";
  }

  #writeMap({ patternProperties = {}, additionalProperties }: Schema, name: string): string {
    const [others] = Object.values(patternProperties);
    const rest = others ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    return `dict[str, ${rest === undefined ? "Any" : this.write(rest, name)}]`;
  }

  #addClass(wanted: string, schema: Schema): string {
    const shape = JSON.stringify(schema);
    let name = wanted;
    for (let count = 2; this.#shapes.has(name) && this.#shapes.get(name) !== shape; count++) name = `${wanted}${count}`;
    if (this.#written.has(name)) return name;
    this.#shapes.set(name, shape);
    this.#written.add(name);
    const needed = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties ?? {}).map(([key, property]) => {
      const conditional = (schema.allOf ?? []).flatMap(({ then }) => then?.properties?.[key] ?? []);
      const inner = name + toPascal(key);
      const type = unite((conditional.length > 0 ? conditional : [property]).map((one) => this.write(one, inner)));
      return { key, type: needed.has(key) ? type : `NotRequired[${type}]`, about: property.description };
    });
    this.classes.push(
      fields.every(({ key }) => isIdentifier(key))
        ? `class ${name}(TypedDict):\n${writeDoc(schema.description, "    ")}${fields.map(writeField).join("")}`
        : `${name} = TypedDict(${JSON.stringify(name)}, {${fields
            .map(({ key, type }) => `${JSON.stringify(key)}: ${JSON.stringify(type)}`)
            .join(", ")}})\n`,
    );
    return name;
  }
}

const hasFields = ({ properties = {} }: Schema): boolean => Object.keys(properties).length > 0;

const writeField = ({ key, type, about }: { key: string; type: string; about: string | undefined }): string =>
  `${writeComment(about, "    ")}    ${key}: ${type}\n`;

const PLAIN: Readonly<Record<string, string>> = {
  string: "str",
  number: "float",
  integer: "int",
  boolean: "bool",
  null: "None",
};

/** Numbers with fractions have no literal types. */
function writeLiteral(values: readonly unknown[]): string {
  if (values.some((value) => typeof value === "number" && !Number.isInteger(value))) return "float";
  const nulls = values.includes(null) ? ["None"] : [];
  const words = values.filter((value) => value !== null).map(writeValue);
  return unite([...(words.length > 0 ? [`Literal[${words.join(", ")}]`] : []), ...nulls]);
}

const writeValue = (value: unknown): string =>
  typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);

const unite = (types: readonly string[]): string => [...new Set(types)].join(" | ") || "Any";
const orNone = (type: string): string => (type.split(" | ").includes("None") ? type : `${type} | None`);

function writeClass(name: string, send: string, methods: readonly Method[], [define, give]: readonly [string, string]) {
  return `

class ${name}:
    def __init__(self, send: ${send}) -> None:
        self._send = send

${methods.map((method) => writeMethod(method, define, give)).join("\n")}`;
}

function writeMethod(method: Method, define: string, give: string): string {
  const { name, about, positional, keyword, answer, route, values } = method;
  const given = ["self", ...positional, "*", ...keyword, "timeout: float | None = None"];
  return `    ${define} ${name}(
${given.map((one) => `        ${one},\n`).join("")}    ) -> ${answer}:
${writeDoc(about, "        ")}        ${give} self._send(Route(${route}), ${values}, timeout)  # type: ignore[no-any-return]
`;
}

const KEYWORDS = ["from", "import", "class", "global", "in", "is", "not", "and", "or", "async", "await", "def", "with"];
const isIdentifier = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.includes(name);
/** As PEP 8 says: a trailing underscore. */
const toSafe = (name: string): string => (KEYWORDS.includes(name) ? `${name}_` : name.replaceAll(/[^\w]/g, "_"));
const toSnake = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
const toPascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/** On one line, as comments of the TypeScript client. */
const toLine = (text: string): string => text.split(/\n\s*/).join(" ").trim();
const writeComment = (text: string | undefined, indent: string): string =>
  text === undefined ? "" : `${indent}#: ${toLine(text)}\n`;
const writeDoc = (text: string | undefined, indent: string): string =>
  text === undefined ? "" : `${indent}r"""${toLine(text).replaceAll('"""', "'''")}"""\n`;
