/** Tools for a running service: one per operation of its OpenAPI document. The key comes from the environment. */
import { CommandFailure, UsageFault } from "../command.ts";
import { cut, failure, MOST_CHARACTERS, type Tool, type ToolResult } from "./tool.ts";

/** Of a request; `POST /start` waits for the first frame. */
const LIMIT_MS = 120_000;
const LOAD_MS = 15_000;
/** Groups of operations that are tools by default: most models choose worse among more. */
const TAGS = [
  "Information",
  "Sources",
  "Process",
  "Outputs",
  "Track reports",
  "Alerts",
  "Webhooks",
  "Events",
  "Graphs",
];
const READABLE = /^(application\/(json|x-ndjson)|text\/plain)$/;
const SENDABLE = ["application/json", "application/yaml"];

export interface Service {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string | undefined;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: object;
  }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { schema?: object }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

export interface ServiceDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Rejects with `CommandFailure` if it cannot be read. */
export async function loadDocument({ url }: Service): Promise<ServiceDocument> {
  let response: Response;
  try {
    response = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(LOAD_MS) });
  } catch (cause) {
    throw new CommandFailure(`${url} cannot be reached; start the service, or leave --url out for graphs only`, {
      cause,
    });
  }
  if (!response.ok)
    throw new CommandFailure(`${url}/openapi.json answers ${response.status}; expected the URL of Windhover`);
  return (await response.json()) as ServiceDocument;
}

/** @param tags comma-separated, or `all`. Throws `UsageFault` for unknown ones. */
export function makeServiceTools(
  document: ServiceDocument,
  service: Service,
  tags: string | undefined,
): readonly Tool[] {
  const known = document.tags.map(({ name }) => name);
  const chosen = tags === "all" ? known : (tags?.split(",").map((tag) => tag.trim()) ?? TAGS);
  const unknown = chosen.find((tag) => !known.includes(tag));
  if (unknown !== undefined && tags !== undefined)
    throw new UsageFault(`--tags has "${unknown}"; expected all, or some of ${known.join(", ")}`);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.tags.some((tag) => chosen.includes(tag)) && isCallable(operation)
        ? [makeTool({ method: method.toUpperCase(), path, operation, document, service })]
        : [],
    ),
  );
}

/** JSON or text in and out: not uploads, files, pages, websockets and streams that do not end. */
function isCallable({ deprecated, requestBody, responses }: Operation): boolean {
  const bodies = Object.keys(requestBody?.content ?? {});
  const answers = Object.entries(responses).filter(([status]) => /^2/.test(status));
  const isReadable = ({ content = {} }: { readonly content?: object }) =>
    Object.keys(content).some((type) => READABLE.test(type));
  return (
    deprecated !== true && bodies.every((type) => SENDABLE.includes(type)) && answers.some(([, one]) => isReadable(one))
  );
}

interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly document: ServiceDocument;
  readonly service: Service;
}

function makeTool(placed: Placed): Tool {
  const { method, path, operation } = placed;
  const { operationId: name, summary, description = "" } = operation;
  return {
    name,
    description: `${method} ${path}: ${summary}. ${description}`.trim(),
    inputSchema: inputSchemaOf(placed),
    isReadOnly: method === "GET",
    isDestructive: method === "DELETE",
    call: (input, signal) => send(placed, input, signal),
  };
}

/** Parameters of path and query by name, and the body as `body`; with everything that they refer to. */
function inputSchemaOf({ operation, document }: Placed): Tool["inputSchema"] {
  const { parameters = [], requestBody } = operation;
  const named = parameters.filter((parameter) => parameter.in === "path" || parameter.in === "query");
  const [media] = Object.values(requestBody?.content ?? {});
  const properties = {
    ...Object.fromEntries(
      named.map(({ name = "", schema = {}, description }) => [
        name,
        { ...schema, ...(description && { description }) },
      ]),
    ),
    ...(media !== undefined && { body: media.schema ?? {} }),
  };
  const required = [
    ...named.flatMap(({ name = "", required: isNeeded }) => (isNeeded === true ? [name] : [])),
    ...(requestBody?.required === true ? ["body"] : []),
  ];
  const $defs = collect(properties, document.components.schemas);
  const whole = { type: "object", properties, required, additionalProperties: false, ...($defs && { $defs }) };
  return JSON.parse(JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/'));
}

function collect(value: object, schemas: ServiceDocument["components"]["schemas"]): Record<string, object> | null {
  const found: Record<string, object> = {};
  const add = (part: object): void => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = schemas[name];
      if (name in found || schema === undefined) continue;
      found[name] = schema;
      add(schema);
    }
  };
  add(value);
  return Object.keys(found).length === 0 ? null : found;
}

async function send(
  placed: Placed,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { method, path, operation, service } = placed;
  const { parameters = [], requestBody } = operation;
  const inPath = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name] ?? "")));
  const query = parameters.flatMap(({ name = "", in: where }): [string, string][] =>
    where === "query" && input[name] !== undefined ? [[name, String(input[name])]] : [],
  );
  const search = new URLSearchParams(query).toString();
  const [type = "application/json"] = Object.keys(requestBody?.content ?? {});
  const { body } = input;
  try {
    const response = await fetch(`${service.url}${inPath}${search === "" ? "" : `?${search}`}`, {
      method,
      headers: {
        ...(service.key !== undefined && { api_key: service.key }),
        ...(body !== undefined && { "Content-Type": type }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    });
    return { text: cut(await readText(response)), isError: !response.ok };
  } catch (error) {
    const reason =
      (error as Error).name === "TimeoutError" ? `no answer within ${LIMIT_MS / 1000} seconds` : "no answer";
    return failure(`${method} ${inPath}: ${reason}; check that the service at ${service.url} runs.`);
  }
}

/** A little more than is shown. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (text.length > MOST_CHARACTERS * 2) break;
  }
  return text;
}
