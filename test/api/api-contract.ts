/** The OpenAPI document of the service as a contract: checks responses against it, and that requests are bounded. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { ERRORS, type ErrorCode } from "../../schemas/errors.ts";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** Security schemes with the scope that a key needs. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  /** Unknown query parameters are accepted. */
  readonly "x-any-query"?: boolean;
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly schema: object;
  readonly example?: string;
}

interface MediaType {
  readonly schema?: object;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "method" | "path">>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Errors of any path, which operations do not declare. */
const ANYWHERE: readonly ErrorCode[] = [
  "path_not_found",
  "method_not_allowed",
  "malformed_request",
  "headers_too_large",
];
const PROBLEM = "application/problem+json";
/** One object for all uses: compiled schemas are cached by identity. */
const PROBLEM_SCHEMA = { $ref: "#/components/schemas/Problem" };

export class ApiContract {
  readonly operations: readonly Operation[];
  readonly #document: ApiDocument;
  readonly #ajv = new Ajv2020({ ...OWN_SCHEMAS, allErrors: true, logger: false });
  readonly #checks = new Map<object, ValidateFunction>();

  constructor(document: ApiDocument) {
    this.#document = document;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ ...document }, "api");
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
  }

  /** The operation of a request: literal segments take precedence over parameters. */
  find(method: string, path: string): Operation | null {
    const words = path.split("/");
    const fits = ({ path: template }: Operation): boolean => {
      const parts = template.split("/");
      return parts.length === words.length && parts.every((part, i) => part.startsWith("{") || part === words[i]);
    };
    const known = this.operations.filter((operation) => operation.method === method && fits(operation));
    const literals = ({ path: template }: Operation) =>
      template.split("/").filter((part) => !part.startsWith("{")).length;
    return known.sort((a, b) => literals(b) - literals(a))[0] ?? null;
  }

  /** Violations of the contract. `operation` null: the path is unknown. */
  check(operation: Operation | null, { status, headers, text }: ReceivedResponse): readonly string[] {
    if (status >= 500 && status !== 503 && status !== 507) return [`a ${status}: ${text.slice(0, 500)}`];
    const type = (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    if (type === PROBLEM) return this.#checkProblem(operation, status, text);
    if (operation === null) return [`unexpected response of type "${type}"`];
    const declared = operation.responses[String(status)];
    if (declared === undefined) return [`${status} is not declared`];
    if (status === 204 || text === "") return [];
    // Files may declare a range of types.
    const ranges = [type, `${type.split("/")[0]}/*`, "*/*"];
    const media = ranges.map((range) => declared.content?.[range]).find((found) => found !== undefined);
    if (media === undefined) return [`${status} as "${type}" is not declared`];
    return type === "application/json" && media.schema !== undefined
      ? this.checkSchema(media.schema, JSON.parse(text))
      : [];
  }

  #checkProblem(operation: Operation | null, status: number, text: string): readonly string[] {
    const problem = JSON.parse(text) as { status: number; code: ErrorCode };
    const known = ERRORS[problem.code];
    if (known?.status !== status || problem.status !== status)
      return [`${status} with the code "${problem.code}" and the status ${problem.status}`];
    const faults = this.checkSchema(PROBLEM_SCHEMA, problem);
    const isDeclared = operation?.responses[String(status)] !== undefined || ANYWHERE.includes(problem.code);
    return isDeclared ? faults : [...faults, `${status} "${problem.code}" is not declared`];
  }

  checkSchema(schema: object, value: unknown): readonly string[] {
    const validate = this.#checks.get(schema) ?? this.#compile(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || "/"} ${message}`);
  }

  #compile(schema: object): ValidateFunction {
    const rooted = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"api#/')) as object;
    const validate = this.#ajv.compile(rooted);
    this.#checks.set(schema, validate);
    return validate;
  }

  /** Resolves the reference of a schema. */
  follow(schema: object): object {
    const reference = (schema as { $ref?: string }).$ref;
    if (reference === undefined) return schema;
    return this.follow(this.#document.components.schemas[reference.split("/").at(-1) ?? ""] ?? {});
  }
}

type Schema = Readonly<Record<string, unknown>>;

export interface RequestDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Pick<Operation, "parameters" | "requestBody">>>>>;
}

/** Limited by `http.body_bytes` as a whole, and parsed by other code. */
const OTHER_BODIES = ["application/sdp", "application/yaml", "multipart/form-data"];
/** `*`, `+` and `{2,}`, which let a pattern match text of any length; not within brackets. */
const ENDLESS = /(?<!\\)(?:[*+]|\{\d+,\})/;

/** Parts of requests without a limit in their schema: text without a maximum length, lists without a maximum size. */
export function findUnbounded(document: RequestDocument): readonly string[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const where = `${method} ${path}`;
      const bodies = Object.entries(requestBody?.content ?? {}).filter(([type]) => !OTHER_BODIES.includes(type));
      return [
        // Those of headers are references.
        ...parameters
          .filter(({ schema }) => schema !== undefined)
          .flatMap(({ name, schema }) => visit(document, schema, `${where}?${name}`, [])),
        ...bodies.flatMap(([, { schema }]) => visit(document, schema, where, [])),
      ];
    }),
  );
}

function visit(document: object, schema: unknown, where: string, above: readonly string[]): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap((item) => visit(document, item, where, above));
  const { $ref: reference, ...rest } = schema as Schema;
  if (typeof reference === "string") {
    const target = reference.slice(2).split("/");
    const found = target.reduce<unknown>((at, key) => (at as Schema)[key], document);
    return above.includes(reference) ? [] : visit(document, found, where, [...above, reference]);
  }
  const inner = ["items", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else"];
  const named = Object.entries((rest.properties ?? {}) as Schema);
  return [
    ...checkBounds(rest).map((fault) => `${where} ${fault}`),
    ...inner.flatMap((key) => visit(document, rest[key], where, above)),
    ...named.flatMap(([name, item]) => visit(document, item, `${where}/${name}`, above)),
  ];
}

function checkBounds({ type, maxLength, maxItems, pattern, ...rest }: Schema): readonly string[] {
  const isChoice = "enum" in rest || "const" in rest;
  const isShort = typeof pattern === "string" && !ENDLESS.test(pattern.replaceAll(/\[[^\]]*\]/g, ""));
  if (type === "string" && maxLength === undefined && !isChoice && !isShort) return ["is text of any length"];
  return type === "array" && maxItems === undefined ? ["is a list of any length"] : [];
}
