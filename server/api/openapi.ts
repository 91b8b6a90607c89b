/** The OpenAPI 3.1 document of all endpoints. */
import { EXAMPLES, type Example } from "../../schemas/api/examples.ts";
import { API_VERSION } from "../../schemas/api/information.ts";
import { Problem } from "../../schemas/api/problem.ts";
import { ERRORS, type ErrorCode } from "../../schemas/errors.ts";
import { PROBLEM_TYPE } from "../problem.ts";
import { isConditional, isTagged } from "./conditional.ts";
import {
  type Access,
  type AnswerShape,
  type AnyEndpoint,
  errorsOf,
  isCreating,
  type MediaShape,
  TAGS,
} from "./endpoint.ts";
import { parameterNames } from "./resource-names.ts";
import { parameterSchema } from "./routes.ts";
import { SharedSchemas } from "./shared-schemas.ts";

const ABOUT =
  `A media server that analyses video. It detects, tracks and geolocates objects in video files and streams, and
returns video, JSON streams, reports, alerts and webhooks. Every running job is a *process*.

Send your API key in the header \`api_key\`, or as \`Authorization: Bearer\`. Errors are \`application/problem+json\` (RFC 9457) with a stable \`code\`;
[this page](docs/errors) lists all codes. A key has scopes (\`read\`, \`publish\`, \`operate\`, \`admin\`): the
one that an operation needs is listed with its security schemes. Times are UTC. Unknown fields and query parameters are rejected
(422), with the name that was probably meant.

Listings are complete by default. With \`limit\` they come in pages: send \`next_cursor\` of an answer as \`cursor\` of the
next request, with the same filters and the same \`sort\`. Entries that are added or deleted meanwhile are neither repeated
nor skipped. A \`-\` in front of the field in \`sort\` means descending.

Records have an \`ETag\`: send it as \`If-None-Match\` to get 304 while nothing has changed, and as \`If-Match\` with
\`PATCH\` or \`DELETE\` to change only what you have read. \`PATCH\` rejects fields that cannot be changed; of a whole
record, with its \`uuid\`, that is sent back as it was read, they are ignored. Every \`POST\` that creates something takes an
\`Idempotency-Key\`, with which it can be sent again safely. \`RateLimit\` and \`RateLimit-Policy\` (IETF draft) tell how
many requests are left for the key before 429, which has \`Retry-After\`.`.replaceAll(/(?<!\n)\n(?!\n)/g, " ");

const IN_QUERY = { type: "apiKey", in: "query" };
/** Names of security schemes; null: without one. */
const SECURITY: Readonly<Record<Access, readonly (string | null)[]>> = {
  key: ["api_key", "bearer"],
  "url-key": ["api_key", "bearer", "api_key_in_url"],
  signed: ["api_key", "bearer", "api_key_in_url", "signed_url"],
  optional: [null, "api_key", "bearer"],
  none: [],
};

/** The scope that a key needs is listed with it, as OpenAPI 3.1 allows for every scheme. A signed URL has no scopes. */
function describeSecurity({ access, scope }: AnyEndpoint): readonly object[] {
  const needed = access === "optional" || scope === null ? [] : [scope];
  return SECURITY[access].map((name) => (name === null ? {} : { [name]: name === "signed_url" ? [] : needed }));
}

export function describeApi(endpoints: readonly AnyEndpoint[]): Readonly<Record<string, unknown>> {
  const shared = new SharedSchemas();
  const paths: Record<string, Record<string, unknown>> = {};
  const ordered = Object.keys(TAGS).flatMap((tag) => endpoints.filter((endpoint) => endpoint.tag === tag));
  for (const endpoint of ordered) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: describeEndpoint(endpoint, shared, isConditional(endpoint, endpoints)),
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Windhover", version: API_VERSION, description: ABOUT },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).flatMap(([name, description]) =>
      endpoints.some((endpoint) => endpoint.tag === name) ? [{ name, description }] : [],
    ),
    paths,
    ...describeSent(ordered, shared),
    components: {
      schemas: shared.list(),
      parameters: HEADER_PARAMETERS,
      headers: HEADERS,
      securitySchemes: {
        api_key: { type: "apiKey", in: "header", name: "api_key" },
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "The API key, as in the header `api_key`.",
        },
        api_key_in_url: { ...IN_QUERY, name: "api_key", description: "For URLs that the service returns." },
        signed_url: {
          ...IN_QUERY,
          name: "token",
          description: "In URLs that the service returns: valid for a limited time and one resource, without a key.",
        },
      },
    },
  };
}

function describeEndpoint(endpoint: AnyEndpoint, shared: SharedSchemas, isConditional: boolean): object {
  const { tag, id, summary, description, isDeprecated } = endpoint;
  const example = EXAMPLES[id];
  return {
    tags: [tag],
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    ...(isDeprecated === true && { deprecated: true }),
    // Unknown parameters are not rejected: others choose them.
    ...(endpoint.acceptsAnyQuery === true && { "x-any-query": true }),
    security: describeSecurity(endpoint),
    ...describeParameters(endpoint, shared, isConditional, example),
    ...describeBody(endpoint, shared, example),
    responses: { ...describeAnswers(endpoint, shared, example), ...describeErrors(endpoint, shared, isConditional) },
  };
}

function describeParameters(
  endpoint: AnyEndpoint,
  shared: SharedSchemas,
  isConditional: boolean,
  example: Example | undefined,
): object {
  const inPath = parameterNames(endpoint.path).map((name) => ({
    name,
    in: "path",
    required: true,
    ...exampleOf(example?.request.params?.[name], {}),
    schema: shared.refer(parameterSchema(endpoint, name)),
  }));
  const required: readonly string[] = endpoint.query?.required ?? [];
  const inQuery = Object.entries<object>(endpoint.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name) && !("default" in schema),
    ...("description" in schema && { description: schema.description }),
    ...exampleOf(example?.request.query?.[name], schema),
    schema: shared.refer(schema),
  }));
  const inHeader = [
    ...(isCreating(endpoint) ? ["IdempotencyKey"] : []),
    ...(isConditional ? ["IfMatch"] : []),
    ...(isTagged(endpoint) && endpoint.method === "GET" ? ["IfNoneMatch"] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  const parameters = [...inPath, ...inQuery, ...inHeader];
  return parameters.length === 0 ? {} : { parameters };
}

/** In a URL everything is text. */
function exampleOf(text: string | undefined, { type }: { readonly type?: unknown }): object {
  if (text === undefined) return {};
  return { example: type === "integer" || type === "number" || type === "boolean" ? JSON.parse(text) : text };
}

function describeBody(
  { body, isBodyOptional, rawBody }: AnyEndpoint,
  shared: SharedSchemas,
  example: Example | undefined,
): object {
  const schema = rawBody?.schema ?? body;
  if (schema === undefined) return {};
  const shown = example?.request.body === undefined ? {} : { example: example.request.body };
  const content = { [rawBody?.mediaType ?? "application/json"]: { schema: shared.refer(schema), ...shown } };
  return { requestBody: { required: isBodyOptional !== true, content } };
}

const HEADER_PARAMETERS = {
  IdempotencyKey: {
    ...{ name: "Idempotency-Key", in: "header", schema: { type: "string", minLength: 1, maxLength: 255 } },
    description:
      "A text of your choice, such as a UUID. The same request with the same key is executed once: for 24 hours it gets the first successful answer again, with `Idempotency-Replayed: true`. With another path, query or body: 422. While the first request is executed: 409. Of an upload, only the length is compared.",
  },
  IfMatch: {
    ...{ name: "If-Match", in: "header", schema: { type: "string", maxLength: 4000 } },
    description:
      "`ETag` of the record as it was read. If fields that can be changed have changed since then, nothing happens: 412.",
  },
  IfNoneMatch: {
    ...{ name: "If-None-Match", in: "header", schema: { type: "string", maxLength: 4000 } },
    description: "`ETag` of an earlier answer. If nothing has changed since then: 304, without a body.",
  },
};

const text = (description: string) => ({ description, schema: { type: "string" } });

const HEADERS = {
  ETag: text("Version of the answer, for `If-None-Match` and `If-Match`."),
  RateLimit: text('Requests that are left, and seconds until all are available again: `"key";r=1150;t=3`.'),
  "RateLimit-Policy": text('Requests per window of seconds: `"key";q=1200;w=60`.'),
};

const headersOf = (names: readonly (keyof typeof HEADERS)[]): object =>
  names.length === 0
    ? {}
    : { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };

function describeAnswers(endpoint: AnyEndpoint, shared: SharedSchemas, recorded: Example | undefined): object {
  const { answers, access } = endpoint;
  const isCounted = access !== "none" && access !== "optional" && access !== "signed";
  const limits = isCounted ? (["RateLimit", "RateLimit-Policy"] as const) : [];
  const describe = ({ schema, example }: MediaShape) => ({
    ...(schema !== undefined && { schema: shared.refer(schema) }),
    ...(example !== undefined && { example }),
  });
  const entries = Object.entries<AnswerShape>(answers).map(([status, { description, mediaType, others, ...main }]) => {
    const isTaggedHere = status === "200" && isTagged(endpoint);
    const headers = headersOf([...(isTaggedHere ? (["ETag"] as const) : []), ...limits]);
    if (main.schema === undefined && mediaType === undefined) return [status, { description, ...headers }];
    const types = { [mediaType ?? "application/json"]: main, ...others };
    const isRecorded = (type: string) => recorded?.status === Number(status) && recorded.type === type;
    const content = Object.entries(types).map(([type, shape]) => [
      type,
      { ...describe(shape), ...(isRecorded(type) && recorded?.answer !== undefined && { example: recorded.answer }) },
    ]);
    return [status, { description, ...headers, content: Object.fromEntries(content) }];
  });
  const isCacheable = endpoint.method === "GET" && isTagged(endpoint);
  return Object.fromEntries([
    ...entries,
    ...(isCacheable ? [["304", { description: "Nothing has changed since the ETag in `If-None-Match`." }]] : []),
  ]);
}

function describeErrors(endpoint: AnyEndpoint, shared: SharedSchemas, isConditional: boolean): object {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(endpoint, isConditional)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].map(([status, codes]) => [
    status,
    {
      description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" "),
      ...(codes.includes("rate_limited") && { headers: RETRY_AFTER }),
      content: { [PROBLEM_TYPE]: { schema: shared.refer(Problem) } },
    },
  ]);
  return Object.fromEntries(entries);
}

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait before retrying.", schema: { type: "integer", minimum: 1 } },
};

/** Headers of the requests that the service sends: Standard Webhooks. */
export const WEBHOOK_HEADERS = {
  "webhook-id": "The same for every attempt to deliver a notification.",
  "webhook-timestamp": "Time of this attempt: Unix time in seconds.",
  "webhook-signature":
    "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`; the key is the base64-decoded part of the secret after `whsec_`.",
};

function describeSent(endpoints: readonly AnyEndpoint[], shared: SharedSchemas): object {
  const parameters = Object.entries(WEBHOOK_HEADERS).map(([name, description]) => ({
    ...{ name, in: "header", required: true, description, schema: { type: "string" } },
  }));
  const sent = endpoints.flatMap(({ tag, sends = {} }) =>
    Object.entries(sends).map(([name, { description, schema }]) => {
      const requestBody = { required: true, content: { "application/json": { schema: shared.refer(schema) } } };
      const responses = {
        "2XX": { description: "Accepted. Any other status is retried, except 410: no further notifications are sent." },
      };
      return [name, { post: { tags: [tag], summary: name, description, parameters, requestBody, responses } }];
    }),
  );
  return sent.length === 0 ? {} : { webhooks: Object.fromEntries(sent) };
}
