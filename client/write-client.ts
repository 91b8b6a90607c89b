/** From the OpenAPI document to the typed part of the client: one method an operation. Pure. */
import { type Schema, writeComment, writeType } from "./write-types.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
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
 * Every operation of the API and every type in it. Made from the OpenAPI document by \`npm run generate\`; a test holds it
 * against the service. Not to be changed by hand.
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

/** Of the first success that says what it holds. */
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
