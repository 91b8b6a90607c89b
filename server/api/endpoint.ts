/**
 * An endpoint: one method on one path, with the schemas of what goes in and comes out. Routing, validation, answers and
 * the OpenAPI document all come from this one definition.
 */
import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";
import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "../../schemas/errors.ts";
import type { User } from "../user.ts";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Groups of the OpenAPI document, in its order. */
export const TAGS = [
  "Information",
  "Sources",
  "Process",
  "Outputs",
  "Telemetry",
  "Media server",
  "Track reports",
  "Alerts",
  "Webhooks",
  "Graphs",
  "Operations",
] as const;

/**
 * `key`: the header `api_key`. `url-key`: also `?api_key=`, for addresses that are handed out. `signed`: as `url-key`, or
 * `?token=` for what the first two words of the path name; such a call has no user. `optional`: a valid key shows more.
 * `bearer`: as `url-key`, or `Authorization: Bearer`, for programs that can send no header of ours. `none`: anybody.
 */
export type Access = "key" | "url-key" | "bearer" | "signed" | "optional" | "none";

export interface Endpoint<
  A extends Access = Access,
  P extends TObject = TObject,
  Q extends TObject = TObject,
  B extends TSchema = TSchema,
> {
  readonly method: Method;
  /** Parameters in braces: `/process/{process_uuid}/pause`. */
  readonly path: string;
  readonly tag: (typeof TAGS)[number];
  /** Names it in the OpenAPI document and in generated clients: `startProcess`. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly isDeprecated?: boolean;
  readonly access: A;
  /** Of `signed`: asked by one who watches already, whose token is one for going on. */
  isGoingOn?(params: Readonly<Record<string, string>>): boolean;
  /** Of the parameters in the path; those that are not named are UUIDs. A value that does not fit is a path that is not there. */
  readonly params?: P;
  /** Values arrive as the schema says: `?limit=5` as a number. Unknown ones are ignored. */
  readonly query?: Q;
  /** Of a JSON body. Without it a body is not read, whatever its type. */
  readonly body?: B;
  /** An absent or empty body counts as `{}`, whatever its type; so does `null`. */
  readonly isBodyOptional?: boolean;
  /** Of bodies that are no JSON: for the document only. The handler reads `call.raw` itself. */
  readonly rawBody?: { readonly mediaType: string; readonly schema: TSchema };
  /** By status. A schema for JSON, or the media type of something else. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** What it makes us send to an address of the client's, by name: for the document. */
  readonly sends?: Readonly<Record<string, { readonly description: string; readonly schema: TSchema }>>;
  /** Codes it may answer with beyond those that every endpoint has. */
  readonly errors: readonly ErrorCode[];
  handle(call: Call<A, P, Q, B>): Promise<Answer> | Answer;
}

export interface AnswerShape {
  readonly description: string;
  readonly schema?: TSchema;
  readonly mediaType?: string;
  /** Other media types that it can be asked for in. */
  readonly otherTypes?: readonly string[];
  /** Of those of them that have one, by media type. */
  readonly otherSchemas?: Readonly<Record<string, TSchema>>;
  /** By media type. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

export interface Call<A extends Access, P extends TObject, Q extends TObject, B extends TSchema> {
  readonly user: A extends "key" | "url-key" | "bearer" ? User : A extends "optional" | "signed" ? User | null : null;
  readonly params: Static<P> & Readonly<Record<string, string>>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
  /** Scheme, host and port that clients reach us at, without a slash at the end: what URLs that we hand out begin with. */
  readonly publicUrl: string;
  /** Of the client, as far as trusted proxies tell. */
  readonly address: string;
  readonly requestId: string;
  /** When the request came, by `performance.now()`. */
  readonly startedMs: number;
  readonly log: Logger;
  readonly headers: Headers;
  /** For bodies that are streamed. */
  readonly raw: IncomingMessage;
  /**
   * Answers `Expect: 100-continue`. Of an endpoint with a `rawBody`: to be called before the body is read, once what can be
   * refused without it has been.
   */
  letContinue(): void;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** JSON by the schema of its status, or a response of one's own (a stream, a file). */
export type Answer = JsonAnswer | Response;

export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: requests are checked against the schemas before `handle` sees them.
export type AnyEndpoint = Endpoint<any, any, any, any>;

export function defineEndpoint<A extends Access, P extends TObject, Q extends TObject, B extends TSchema>(
  endpoint: Endpoint<A, P, Q, B>,
): Endpoint<A, P, Q, B> {
  return Object.freeze(endpoint);
}
