/** All endpoints, from the OpenAPI document. */
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

/** Of an example that is text. */
const MOST_LINES = 8;

export function writeApi(document: OpenApi): string {
  const shown = new Map<string, string>();
  return [
    made("the OpenAPI document"),
    "# API",
    "A running service has the complete document, with all schemas, at `GET /openapi.json`, and an interactive version at `GET /docs`. `client/` is a typed client generated from it. The examples are recorded from a real service: ids, keys and addresses are replaced, and lists are shortened.",
    // Links of the document are relative to a running service.
    document.info.description.replace("[this page](docs/errors)", "`GET /docs/errors`"),
    ...writeSharedErrors(),
    ...listByTag(document).flatMap(({ name, description, operations }) => [
      `## ${name}`,
      description,
      ...operations.map((operation) => writeOperation(operation, shown)),
    ]),
    "## Types",
    "Fields of the bodies above. Those of answers that are not optional are always there; null without a value.",
    ...listTypes(document),
  ].join("\n\n");
}

/** Errors of any operation, which are not repeated with each. */
function writeSharedErrors(): readonly string[] {
  const rows = SHARED_ERRORS.map((name): [number, string[]] => [
    ERRORS[name].status,
    [String(ERRORS[name].status), code(name), `${ERRORS[name].title}.`],
  ]);
  return [
    "## Errors of all operations",
    "These can be the answer of any operation to which they apply, and are not listed with each: those about keys and scopes where a key is needed, those about bodies where one is sent. What is listed with an operation comes on top.",
    table(
      ["Status", "Code", "Meaning"],
      rows.sort(([a], [b]) => a - b).map(([, row]) => row),
    ),
  ];
}

/** @param shown where the example of a type is */
function writeOperation({ method, path, operation }: PlacedOperation, shown: Map<string, string>): string {
  const { summary, description, deprecated, security } = operation;
  const scope = security.flatMap((scheme) => Object.values(scheme).flat())[0];
  return [
    `### ${method} ${path}`,
    [
      `${summary}${/[.!?]$/.test(summary) ? "" : "."}`,
      ...(deprecated === true ? ["Deprecated."] : []),
      description ?? "",
      ...(scope === undefined ? [] : [`Scope: ${code(scope)}.`]),
    ]
      .filter((text) => text !== "")
      .join(" ")
      .trim(),
    ...writeRequest(method, path, operation),
    ...writeAnswers(operation, `${method} ${path}`, shown),
    ...writeErrors(operation),
  ].join("\n\n");
}

function writeRequest(method: string, path: string, { parameters = [], requestBody }: Operation): readonly string[] {
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const rows = inQuery.map(({ name = "", required, description = "" }) => [
    ...[code(name), required === true ? "yes" : "", description],
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
    ...(rows.length === 0 ? [] : [table(["Query parameter", "Required", "Description"], rows)]),
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
  return fence("json", writeJson(example));
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

/** Those that are particular to the operation. */
function writeErrors({ responses }: Operation): readonly string[] {
  const codes = Object.values(responses).flatMap(({ description }) =>
    [...description.matchAll(/`(\w+)`: /g)].map(([, name = ""]) => name as ErrorCode),
  );
  const own = [...new Set(codes)].filter((name) => name in ERRORS && !SHARED_ERRORS.includes(name));
  return own.length === 0 ? [] : [`Errors: ${own.map((name) => `${ERRORS[name].status} ${code(name)}`).join(", ")}.`];
}

/** Of bodies, and of types within those. */
function listTypes({ paths, components: { schemas } }: OpenApi): readonly string[] {
  const used = new Set<string>();
  const add = (names: readonly string[]): void => {
    for (const name of names.filter((one) => !used.has(one) && schemas[one] !== undefined)) {
      used.add(name);
      add(listReferences(schemas[name]));
    }
  };
  add(listReferences(paths));
  return Object.entries(schemas)
    .filter(([name]) => used.has(name))
    .flatMap(([name, schema]) => {
      const fields = writeFields(schema);
      const kind = schema.anyOf === undefined ? "" : `One of ${schema.anyOf.map(writeType).join(", ")}.`;
      return [
        `### Type ${name}`,
        ...[schema.description ?? "", fields === "" ? kind : fields].filter((text) => text !== ""),
      ];
    });
}
