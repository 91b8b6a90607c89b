/** Every answer of the API, held against the document that the API gives of itself. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { ERRORS, type ErrorCode } from "../../schemas/errors.ts";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly schema: object;
}

interface MediaType {
  readonly schema?: object;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "method" | "path">>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface ReadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Of any path: nothing that an operation needs to say of itself. */
const ANYWHERE: readonly ErrorCode[] = [
  "path_not_found",
  "method_not_allowed",
  "malformed_request",
  "headers_too_large",
];
const PROBLEM = "application/problem+json";
/** One for all: what has been compiled is known by its schema. */
const PROBLEM_SCHEMA = { $ref: "#/components/schemas/Problem" };

export class Answers {
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

  /** The operation that a request goes to: literal words before parameters. */
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

  /** What does not fit; empty when all does. `operation` null: none was meant. */
  judge(operation: Operation | null, { status, headers, text }: ReadAnswer): readonly string[] {
    if (status >= 500 && status !== 503 && status !== 507) return [`a ${status}: ${text.slice(0, 500)}`];
    const type = (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    if (type === PROBLEM) return this.#judgeProblem(operation, status, text);
    if (operation === null) return [`an answer of type "${type}" where none was expected`];
    const declared = operation.responses[String(status)];
    if (declared === undefined) return [`${status} is not declared`];
    if (status === 204 || text === "") return [];
    // A file may be of any type, and is then said to be.
    const media = declared.content?.[type] ?? declared.content?.["*/*"];
    if (media === undefined) return [`${status} as "${type}" is not declared`];
    return type === "application/json" && media.schema !== undefined ? this.check(media.schema, JSON.parse(text)) : [];
  }

  #judgeProblem(operation: Operation | null, status: number, text: string): readonly string[] {
    const problem = JSON.parse(text) as { status: number; code: ErrorCode };
    const known = ERRORS[problem.code];
    if (known?.status !== status || problem.status !== status)
      return [`${status} with the code "${problem.code}" and the status ${problem.status}`];
    const faults = this.check(PROBLEM_SCHEMA, problem);
    const isDeclared = operation?.responses[String(status)] !== undefined || ANYWHERE.includes(problem.code);
    return isDeclared ? faults : [...faults, `${status} "${problem.code}" is not declared`];
  }

  check(schema: object, value: unknown): readonly string[] {
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

  /** A schema with its reference followed. */
  follow(schema: object): object {
    const reference = (schema as { $ref?: string }).$ref;
    if (reference === undefined) return schema;
    return this.follow(this.#document.components.schemas[reference.split("/").at(-1) ?? ""] ?? {});
  }
}
