/** The reference of the API, from the OpenAPI document: an index, and a page for each resource. */
import { ERRORS, type ErrorCode } from "../../schemas/errors.ts";
import { SHARED_ERRORS } from "../../server/api/endpoint.ts";
import { writeJson } from "./compact-json.ts";
import { writeFields, writeType } from "./fields.ts";
import { code, fence, made, table } from "./markdown.ts";
import {
  findAnswer,
  listByTag,
  listReferences,
  type Media,
  type OpenApi,
  type Operation,
  type PlacedOperation,
  type Schema,
} from "./open-api.ts";

type Resource = ReturnType<typeof listByTag>[number];

/** Of an example that is text. */
const MOST_LINES = 8;
/** Of a text in an example: hashes, keys and images are longer. */
const MOST_LETTERS = 72;

/** By path. */
export function writeApi(document: OpenApi): readonly (readonly [path: string, text: string])[] {
  const resources = listByTag(document);
  const homes = placeTypes(resources, document);
  return [
    ["docs/api.md", writeIndex(document, resources)],
    ...resources.map((resource) => [`docs/api/${fileOf(resource)}`, writeResource(resource, homes, document)] as const),
  ];
}

function writeIndex(document: OpenApi, resources: readonly Resource[]): string {
  return [
    made("the OpenAPI document"),
    "# API",
    "Every operation, by resource; each links to its parameters, an example of its body and answer, and its fields. A running service has the complete document at `GET /openapi.json`, and an interactive version at `GET /docs`. There are [TypeScript](../client/README.md) and [Python](../client/python/README.md) clients, generated from it.",
    // Links of the document are relative to a running service.
    document.info.description.replace("[this page](docs/errors)", "`GET /docs/errors`"),
    ...resources.flatMap((resource) => {
      const lines = resource.operations.map(({ method, path, operation }) => [
        `[${method} ${path}](api/${fileOf(resource)}#${operation.deprecated === true ? "deprecated" : anchorOf(`${method} ${path}`)})`,
        `${closeSentence(operation.summary)}${operation.deprecated === true ? " Deprecated." : ""}`,
      ]);
      return [
        `## ${resource.name}`,
        `${resource.description} [Reference](api/${fileOf(resource)})`,
        table(["Operation", "What it does"], lines),
      ];
    }),
    ...writeSharedErrors(),
  ].join("\n\n");
}

function writeResource(resource: Resource, homes: ReadonlyMap<string, Resource>, document: OpenApi): string {
  const shown = new Map<string, string>();
  const current = resource.operations.filter(({ operation }) => operation.deprecated !== true);
  const old = resource.operations.filter(({ operation }) => operation.deprecated === true);
  const text = [
    made("the OpenAPI document"),
    `# ${resource.name}`,
    `${resource.description} The examples are recorded from a real service: ids, keys and addresses are replaced, lists and long texts are cut. [All operations](../api.md)`,
    ...current.map((operation) => writeOperation(operation, shown)),
    ...writeDeprecated(old),
    ...writeErrors(resource.operations),
    ...writeTypes(resource, homes, document),
  ].join("\n\n");
  return text.replaceAll(/\(#type-(\w+)\)/g, (link, name: string) => {
    const home = [...homes].find(([type]) => type.toLowerCase() === name)?.[1];
    return home === undefined || home.name === resource.name ? link : `(${fileOf(home)}#type-${name})`;
  });
}

const fileOf = ({ name }: Resource): string => `${name.toLowerCase().replaceAll(" ", "-")}.md`;

const closeSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Errors of any operation, which are not repeated with each. */
function writeSharedErrors(): readonly string[] {
  return [
    "## Errors of all operations",
    "These can be the answer of any operation to which they apply: those about keys and scopes where a key is needed, those about bodies where one is sent. The page of a resource lists its own.",
    tableOfErrors(SHARED_ERRORS),
  ];
}

function tableOfErrors(names: readonly ErrorCode[]): string {
  const sorted = [...names].sort((a, b) => ERRORS[a].status - ERRORS[b].status);
  const rows = sorted.map((name) => [String(ERRORS[name].status), code(name), `${ERRORS[name].title}.`]);
  return table(["Status", "Code", "Meaning"], rows);
}

function writeDeprecated(operations: readonly PlacedOperation[]): readonly string[] {
  if (operations.length === 0) return [];
  const rows = operations.map(({ method, path, operation: { summary, description = "" } }) => [
    code(`${method} ${path}`),
    `${closeSentence(summary)} ${description}`.trim(),
  ]);
  return ["## Deprecated", "For clients that use them already.", table(["Operation", "What it does"], rows)];
}

/** @param shown where the example of a type is */
function writeOperation({ method, path, operation }: PlacedOperation, shown: Map<string, string>): string {
  const { summary, description, security } = operation;
  const scope = security.flatMap((scheme) => Object.values(scheme).flat())[0];
  return [
    `## ${method} ${path}`,
    [closeSentence(summary), description ?? "", ...(scope === undefined ? [] : [`Scope: ${code(scope)}.`])]
      .filter((text) => text !== "")
      .join(" ")
      .trim(),
    ...writeRequest(method, path, operation),
    ...writeAnswers(operation, `${method} ${path}`, shown),
  ].join("\n\n");
}

function writeRequest(method: string, path: string, { parameters = [], requestBody }: Operation): readonly string[] {
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const rows = inQuery.map(({ name = "", required, description = "", schema = {} }) => [
    ...[code(name), writeType(schema), required === true ? "yes" : "", description],
  ]);
  const query = new URLSearchParams(
    inQuery.flatMap(({ name = "", example }): [string, string][] =>
      example === undefined ? [] : [[name, String(example)]],
    ),
  );
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const [first, ...body] = media === undefined || type === undefined ? [] : writeBody(type, media, media.schema ?? {});
  const line = query.size === 0 ? [] : [`${method} ${path}?${decodeURIComponent(query.toString())}`];
  return [
    ...(rows.length === 0 ? [] : [table(["Query parameter", "Type", "Required", "Description"], rows)]),
    ...(line.length === 0 ? [] : [fence("http", line.join("\n"))]),
    ...(first === undefined ? [] : [`Body${requestBody?.required === false ? ", optional" : ""}: ${first}`, ...body]),
  ];
}

/** What it is, in a line; the example; the fields, unless they have a name. */
function writeBody(type: string, { example }: Media, schema: Schema): readonly string[] {
  const isJson = /[/+]json$/.test(type);
  const name = isJson ? (schema.$ref === undefined ? "" : writeType(schema)) : `${code(type)}`;
  const shown = example === undefined ? [] : [writeExample(type, example)];
  // Of a form, too.
  const fields = writeFields(schema);
  const typed = isJson || schema.$ref === undefined ? name : `${name}, ${writeType(schema)}`;
  return [typed === "" ? "JSON." : `${typed}.`, ...shown, ...(fields === "" ? [] : [fields])];
}

function writeExample(type: string, example: unknown): string {
  if (typeof example === "string") {
    const lines = example.split("\n").map((line) => line.trimEnd());
    const text = lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), "…"].join("\n") : lines.join("\n");
    return fence(type.includes("yaml") ? "yaml" : "text", text);
  }
  return fence("json", writeJson(shorten(example)));
}

/** One entry of each list, and no long texts. */
function shorten(value: unknown): unknown {
  if (typeof value === "string") return value.length > MOST_LETTERS ? `${value.slice(0, MOST_LETTERS - 1)}…` : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const isOfScalars = value.every((one) => typeof one !== "object" || one === null);
    return value.slice(0, isOfScalars ? 4 : 1).map(shorten);
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shorten(one)]));
}

function writeAnswers(operation: Operation, heading: string, shown: Map<string, string>): readonly string[] {
  const found = findAnswer(operation);
  const others = Object.entries(operation.responses).filter(
    // The same for everything that can be read; described above.
    ([status]) => /^[123]/.test(status) && status !== "304" && status !== found?.[0],
  );
  const also = others.map(([status, { description }]) => `${status}: ${description}`).join(" ");
  if (found === null) return also === "" ? [] : [also];
  const [status, { description, content = {} }] = found;
  const [type, media] =
    Object.entries(content).find(([, { example }]) => example !== undefined) ?? Object.entries(content)[0] ?? [];
  const head = `Answer ${status}: ${description}`;
  if (type === undefined || media === undefined) return [[head, also].filter((text) => text !== "").join(" ")];
  const name = media.schema?.$ref;
  const before = name === undefined ? undefined : shown.get(name);
  if (name !== undefined && before === undefined) shown.set(name, heading);
  const [what = "", ...body] = writeBody(type, media, media.schema ?? {});
  const line = [head, what === "JSON." ? "" : what, also].filter((text) => text !== "").join(" ");
  return before === undefined ? [line, ...body] : [`${line} As that of [${before}](#${anchorOf(before)}).`];
}

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");

/** Of all operations of a resource, once. */
function writeErrors(operations: readonly PlacedOperation[]): readonly string[] {
  const texts = operations.flatMap(({ operation }) => Object.values(operation.responses).map((one) => one.description));
  const codes = texts.flatMap((text) => [...text.matchAll(/`(\w+)`: /g)].map(([, name = ""]) => name as ErrorCode));
  const own = [...new Set(codes)].filter((name) => name in ERRORS && !SHARED_ERRORS.includes(name));
  if (own.length === 0) return [];
  const all =
    "[Those of all operations](../api.md#errors-of-all-operations) come on top; `GET /openapi.json` lists the errors of each operation.";
  return ["## Errors", all, tableOfErrors(own)];
}

/** Every type is on the page of the first resource that uses it. */
function placeTypes(resources: readonly Resource[], { components }: OpenApi): ReadonlyMap<string, Resource> {
  const homes = new Map<string, Resource>();
  const add = (names: readonly string[], resource: Resource): void => {
    for (const name of names.filter((one) => !homes.has(one) && components.schemas[one] !== undefined)) {
      homes.set(name, resource);
      add(listReferences(components.schemas[name]), resource);
    }
  };
  for (const resource of resources)
    add(listReferences(resource.operations.filter(({ operation }) => operation.deprecated !== true)), resource);
  return homes;
}

function writeTypes(
  { name: home }: Resource,
  homes: ReadonlyMap<string, Resource>,
  { components: { schemas } }: OpenApi,
): readonly string[] {
  const types = Object.entries(schemas).filter(([name]) => homes.get(name)?.name === home);
  if (types.length === 0) return [];
  return [
    "## Fields",
    "Of the bodies above. Fields of answers that are not optional are always there; null without a value.",
    ...types.flatMap(([name, schema]) => {
      const fields = writeFields(schema);
      const kind = schema.anyOf === undefined ? "" : `One of ${schema.anyOf.map(writeType).join(", ")}.`;
      return [
        `### Type ${name}`,
        ...[schema.description ?? "", fields === "" ? kind : fields].filter((text) => text !== ""),
      ];
    }),
  ];
}
