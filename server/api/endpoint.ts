/**
 * An endpoint: one method on one path, with the schemas of its input and its answers. Routing, validation, answers and
 * the OpenAPI document are derived from this definition.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { Scope } from "../../schemas/api/keys.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import type { Page, TimeRange } from "../store/page.ts";
import type { User } from "../user.ts";
import { closeSchema } from "./closed-schema.ts";
import type { ApiCall } from "./context.ts";
import { namesSource } from "./resource-names.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Groups of the OpenAPI document, in its order. */
export const TAGS = {
  Information: "Status of the service; limits and usage of a key.",
  Keys: "API keys of an account and its children, and limits of accounts.",
  Sources: "Video files and streams.",
  Process: "Detection jobs: start, pause, stop, watch.",
  Outputs: "Destinations of processed video, and data streams.",
  Telemetry: "Camera position and attitude.",
  "Media server": "Streams published to this service, and their recordings.",
  "Track reports": "Detected objects, with time, path and image.",
  Alerts: "Conditions that send a notification when they are met.",
  Webhooks: "Notifications to your own URL.",
  Events: "What has happened to your streams, processes and recordings.",
  Map: "Background and terrain of maps.",
  Graphs: "Graphs that processes run, and their elements.",
  Operations: "For operators of the service.",
} as const;
export type Tag = keyof typeof TAGS;

/**
 * How a request authenticates:
 * - `key`: the header `api_key`, or `Authorization: Bearer`; for the console, the cookie of a session.
 * - `url-key`: also `?api_key=`, for URLs that we hand out and programs that cannot send headers.
 * - `signed`: as `url-key`, or `?token=` for the resource in the first two segments of the path; such a call has no user.
 * - `optional`: no key needed; a valid key shows more.
 * - `none`: public.
 */
export type Access = "key" | "url-key" | "signed" | "optional" | "none";

type SourceUse = "named" | "listed" | "none";

interface EndpointDefinition<
  A extends Access,
  P extends TObject,
  Q extends TObject,
  B extends TSchema,
  N extends string,
> {
  readonly summary: string;
  readonly description?: string;
  readonly isDeprecated?: boolean;
  /** Default: `key`. */
  readonly access?: A;
  /** Needed by a key. Null: every valid key will do. Default: `read` for GET, else `operate`. */
  readonly scope?: Scope | null;
  /**
   * What a key that is limited to sources gets: `named`: the request names a resource, which must belong to one of them;
   * `listed`: only what belongs to them is listed (`fetchPage`), or found by the handler; `none`: it shows nothing of any source. Null: such a key is
   * rejected. Default: `named` if every request names one, else null.
   */
  readonly sources?: SourceUse | null;
  /** For `signed`: what of the resource in its path a token must be for; default: the resource as a whole. */
  readonly signedPart?: string;
  /** For `signed`: whether a session token, which running players use, is accepted too. */
  acceptsSessionToken?(params: Readonly<Record<string, string>>): boolean;
  /** Schemas of path parameters; parameters without one are UUIDs. A value that does not match is answered with 404. */
  readonly params?: P;
  /** Values are converted to the schema's types: `?limit=5` is a number. Unknown parameters are rejected. */
  readonly query?: Q;
  /** Unknown query parameters are ignored: another party chooses them, or they are for the page. */
  readonly acceptsAnyQuery?: boolean;
  /** Schema of a JSON body, closed by `defineEndpoints`: unknown fields are rejected. Without it the body is not read. */
  readonly body?: B;
  /** An absent or empty body, of any media type, and `null` count as `{}`. */
  readonly isBodyOptional?: boolean;
  /** A body that is not JSON, for the OpenAPI document. The handler reads it from `call.raw`. */
  readonly rawBody?: { readonly mediaType: string; readonly schema: TSchema };
  /** By status: a schema for JSON, or another media type. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** Requests that the service sends to the client's URL, by name: for the OpenAPI document. */
  readonly sends?: Readonly<Record<string, { readonly description: string; readonly schema: TSchema }>>;
  /** Error codes of this endpoint, besides `SHARED_ERRORS`. */
  readonly errors?: readonly ErrorCode[];
  handle(call: Call<A, P, Q, B, N>): Promise<Answer> | Answer;
  /**
   * A text that changes whenever the answer would. With it, JSON answers are kept and sent again while the text is the
   * same. They may depend on user, parameters, query and public URL, and on nothing else that the text does not cover.
   */
  version?(call: Call<A, P, Q, B, N>): Promise<string>;
}

/** Of one media type. */
export interface MediaShape {
  readonly schema?: TSchema;
  readonly example?: unknown;
}

export interface AnswerShape extends MediaShape {
  readonly description: string;
  /** Default with a schema: JSON. */
  readonly mediaType?: string;
  /** Further media types that the client can choose. */
  readonly others?: Readonly<Record<string, MediaShape>>;
}

/** A request as its endpoint sees it: checked against the schemas. */
type Call<A extends Access, P extends TObject, Q extends TObject, B extends TSchema, N extends string> = Omit<
  ApiCall,
  "user" | "params" | "query" | "body"
> & {
  readonly user: A extends "key" | "url-key" ? User : A extends "optional" | "signed" ? User | null : null;
  readonly params: Static<P> & Readonly<Record<N, string>>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
};

/** JSON by the schema of its status, or a custom response (a stream, a file). */
export type Answer = JsonAnswer | Response;

export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: requests are checked against the schemas before `handle` sees them.
export interface AnyEndpoint extends EndpointDefinition<any, any, any, any, any> {
  readonly method: Method;
  /** Parameters in braces: `/process/{process_uuid}/pause`. */
  readonly path: string;
  readonly tag: Tag;
  /** `operationId` of the OpenAPI document, and the name in generated clients: `startProcess`. */
  readonly id: string;
  readonly access: Access;
  readonly scope: Scope | null;
  readonly sources: SourceUse | null;
  readonly errors: readonly ErrorCode[];
}

/** `"/process/{process_uuid}/{output_uuid}"`: `"process_uuid" | "output_uuid"`. */
type ParamNames<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | ParamNames<Rest>
    : never;

/** The function that defines the endpoints of one tag. */
export const defineEndpoints =
  (tag: Tag) =>
  <
    Path extends string,
    A extends Access = "key",
    P extends TObject = TObject<Record<never, never>>,
    Q extends TObject = TObject<Record<never, never>>,
    B extends TSchema = TSchema,
  >(
    method: Method,
    path: Path,
    id: string,
    definition: EndpointDefinition<A, P, Q, B, ParamNames<Path>>,
  ): AnyEndpoint =>
    Object.freeze({
      ...({ access: "key" as const, errors: [], scope: method === "GET" ? "read" : "operate" } as const),
      sources: namesSource({ ...definition, method, path }) ? ("named" as const) : null,
      ...{ ...definition, method, path, tag, id },
      ...(definition.body !== undefined && { body: closeSchema(definition.body) }),
    });

export const ok = (body: unknown): JsonAnswer => ({ status: 200, body });
export const deleted = (uuid: string): JsonAnswer => ok({ deleted: true, uuid });

/** One page of records, under the name that the listing's schema has for them. */
export const listing = <T>(
  name: string,
  { rows, nextCursor }: Page<T>,
  describe: (row: T) => unknown = (row) => row,
): JsonAnswer =>
  ok({ [name]: rows.map((row) => describe(row)), ...(nextCursor !== null && { next_cursor: nextCursor }) });

/** It creates something: its answers include 201 or 202. */
export const isCreating = ({ method, answers }: AnyEndpoint): boolean =>
  method === "POST" && (201 in answers || 202 in answers);

const toDate = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));

/** The filter by time of a listing, from its query. */
export const rangeOf = ({ from, to }: { from?: string | undefined; to?: string | undefined }): TimeRange => ({
  ...{ from: toDate(from), to: toDate(to) },
});

const KEY_ERRORS = ["api_key_missing", "api_key_invalid", "api_key_expired"] as const;
/** Of keys without all rights. */
const RIGHT_ERRORS = ["scope_needed", "unlimited_key_needed"] as const;
const BODY_ERRORS = ["malformed_json", "request_timeout", "body_too_large", "media_type_unsupported"] as const;
const SERVER_ERRORS = ["internal_error", "database_unavailable", "shutting_down"] as const;
/** Of requests with an idempotency key, and of conditional ones. */
const KEYED_ERRORS = ["request_in_progress", "idempotency_key_reused"] as const;
const CONDITIONAL_ERRORS = ["precondition_failed"] as const;
/** Of requests to a process. */
const PROCESS_ERRORS = ["node_unavailable"] as const;

/** Error codes that endpoints need not declare. */
export const SHARED_ERRORS: readonly ErrorCode[] = [
  ...(["malformed_request", "path_not_found", "method_not_allowed", "rate_limited"] as const),
  ...SERVER_ERRORS,
  ...PROCESS_ERRORS,
  ...KEYED_ERRORS,
  ...CONDITIONAL_ERRORS,
  ...KEY_ERRORS,
  ...RIGHT_ERRORS,
  ...BODY_ERRORS,
  ...(["signature_invalid", "invalid_input"] as const),
];

/** Every error code that this endpoint can return, for the OpenAPI document. */
export function errorsOf(endpoint: AnyEndpoint, isConditional = false): readonly ErrorCode[] {
  const { access, path, query, body, errors, scope, sources } = endpoint;
  const needsKey = access !== "optional" && access !== "none";
  const codes: (ErrorCode | false)[] = [
    "malformed_request",
    path.includes("{") && "path_not_found",
    ...(needsKey ? [...KEY_ERRORS, "rate_limited" as const] : []),
    needsKey && scope !== null && "scope_needed",
    needsKey && sources === null && "unlimited_key_needed",
    access === "signed" && "signature_invalid",
    ...(body === undefined ? [] : BODY_ERRORS),
    (query !== undefined || body !== undefined || isCreating(endpoint)) && "invalid_input",
    ...(isCreating(endpoint) ? KEYED_ERRORS : []),
    ...(isConditional ? CONDITIONAL_ERRORS : []),
    ...errors,
    ...(path.includes("{process_uuid}") ? PROCESS_ERRORS : []),
    ...SERVER_ERRORS,
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}
