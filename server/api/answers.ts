/** Answers: JSON, custom responses of endpoints, and errors as problem documents (RFC 9457). */
import { promisify } from "node:util";
import { constants, gzip, gzipSync } from "node:zlib";
import type { Context, ErrorHandler, Handler } from "hono";
import type { ErrorCode } from "../../schemas/errors.ts";
import { ANSWER_HEADERS, problemHeaders, toProblem, toServiceError } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { isUnchanged, type TagAnswer, tagAnswersOf } from "./conditional.ts";
import { hasBody } from "./connections.ts";
import type { ApiCall, ApiEnv, ApiMiddleware } from "./context.ts";
import { type AnyEndpoint, type JsonAnswer, SHARED_ERRORS } from "./endpoint.ts";
import { answerOnce } from "./idempotency.ts";
import type { KeptAnswers, SentAnswer } from "./kept-answers.ts";
import { type Route, type RoutePath, readParams } from "./routes.ts";

/** `nearest`: the path that was probably meant. */
export const pathNotFound = (nearest?: string): ServiceError => {
  const hint = nearest === undefined ? "." : `; did you mean "${nearest}"?`;
  return new ServiceError("path_not_found", {
    detail: `This path does not exist; \`GET /openapi.json\` lists all paths${hint}`,
  });
};

/** A value in a path that does not match its schema means that the path does not exist. */
const parameterNotFound = ({ names, checkParams }: Route, values: readonly string[]): ServiceError => {
  const [fault] = checkParams(Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""])));
  if (fault === undefined) return pathNotFound();
  return new ServiceError("path_not_found", { detail: `${fault.path.slice(1)} in the path ${fault.message}.` });
};

export const shuttingDown = (): ServiceError =>
  new ServiceError("shutting_down", {
    detail: "The service is shutting down; retry in a moment.",
    retryAfterSeconds: 5,
  });

/** Sets route and parameters of the call. */
export function matchParams(route: Route, path: RoutePath): ApiMiddleware {
  return (context, next) => {
    const { call } = context.env;
    call.route = path.template;
    const values = valuesOf(context, path);
    const params = readParams(route, values);
    if (params === null) throw parameterNotFound(route, values);
    call.endpoint = route.endpoint;
    call.params = params;
    return next();
  };
}

interface AnswerDeps {
  readonly kept: KeptAnswers;
  /** Answers are compared with their schemas. */
  readonly isChecked: boolean;
  /** Null: idempotency keys have no effect. */
  readonly sql: Sql | null;
}

/**
 * Sends the kept answer if it is still current, else that of the endpoint.
 */
export function callEndpoint(route: Route, path: RoutePath, deps: AnswerDeps): Handler<ApiEnv> {
  const { endpoint } = route;
  const { kept, isChecked, sql } = deps;
  const tag = tagAnswersOf(endpoint, path);
  return async ({ env: { call } }) => {
    const version = await endpoint.version?.(call);
    const key = version === undefined ? "" : keyOf(endpoint, call);
    const known = version === undefined ? null : kept.find(key, version);
    if (known !== null) return respond(call, known);
    const execute = () => endpoint.handle(call);
    const answer = await (sql === null ? execute() : answerOnce(sql, endpoint, call, execute));
    if (answer instanceof Response) {
      answer.headers.set("X-Request-Id", call.requestId);
      for (const [name, value] of Object.entries(call.limitHeaders)) answer.headers.set(name, value);
      if (!answer.headers.has("X-Content-Type-Options")) answer.headers.set("X-Content-Type-Options", "nosniff");
      if (call.raw.method === "HEAD") void answer.body?.cancel();
      return answer;
    }
    if (isChecked) expectValid(answer, route);
    const { status, body, headers } = answer;
    const sent = await encode(call, status, body, { ...JSON_HEADERS, ...headers }, status === 200 ? tag : null);
    return respond(call, version === undefined ? sent : kept.keep(key, version, sent));
  };
}

const JSON_HEADERS = { ...ANSWER_HEADERS, "Content-Type": "application/json" };

/** Everything but its version that an answer depends on. */
const keyOf = ({ id }: AnyEndpoint, { user, params, query, publicUrl, headers }: ApiCall): string =>
  JSON.stringify([id, user?.uuid, params, query, publicUrl, acceptsGzip(headers["accept-encoding"])]);

/** An answer that does not match its schema is a bug. */
function expectValid({ status, body }: JsonAnswer, { endpoint, checkAnswer }: Route): void {
  const check = checkAnswer.get(status);
  const name = `${endpoint.method} ${endpoint.path}`;
  if (check === undefined) throw new Error(`${name} answered with ${status}, which it does not declare`);
  const faults = check(JSON.parse(JSON.stringify(body)));
  if (faults.length === 0) return;
  const texts = faults.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
  throw new Error(`the answer of ${name} does not match its schema: ${texts}`);
}

/** Not Hono's `compress`: it turns every answer into a web stream, and would buffer event streams and files. */
async function encode(
  { headers: { "accept-encoding": encodings } }: ApiCall,
  status: number,
  value: unknown,
  given: Readonly<Record<string, string>>,
  tag: TagAnswer | null = null,
): Promise<SentAnswer> {
  const body = JSON.stringify(value);
  const headers = tag === null ? given : { ...given, ETag: tag(value, body) };
  if (body.length < MIN_COMPRESSED) return { status, headers, body };
  const vary = { ...headers, Vary: "Accept-Encoding" };
  if (!acceptsGzip(encodings) || isDense(body)) return { status, headers: vary, body };
  return { status, headers: { ...vary, "Content-Encoding": "gzip" }, body: await compress(body) };
}

function respond(call: ApiCall, { status, headers: kept, body }: SentAnswer): Response {
  const { raw, requestId, limitHeaders } = call;
  const headers: Record<string, string> = { ...kept, ...limitHeaders, "X-Request-Id": requestId };
  if (isUnchanged(call, kept.ETag)) {
    const { "Content-Type": _, "Content-Encoding": __, ...left } = headers;
    return new Response(null, { status: 304, headers: left });
  }
  if (raw.method !== "HEAD") return new Response(body, { status, headers });
  headers["Content-Length"] = String(Buffer.byteLength(body));
  return new Response(null, { status, headers });
}

const zip = promisify(gzip);
/** Shorter texts are not worth compressing. */
const MIN_COMPRESSED = 1024;

export const compress = (text: string): Promise<Buffer> => zip(text, { level: constants.Z_BEST_SPEED });

/** From this length on, a sample decides whether a text is compressed. */
const MIN_SAMPLED = 65_536;
const SAMPLE = 4096;
/** Images in base64 stay above it. */
const DENSE = 0.6;

/**
 * Mostly images: compressing them saves the quarter that base64 adds, and takes longer than sending it, except over slow
 * networks.
 */
function isDense(text: string): boolean {
  if (text.length < MIN_SAMPLED) return false;
  const middle = text.length >> 1;
  const sample = gzipSync(text.slice(middle, middle + SAMPLE), { level: constants.Z_BEST_SPEED });
  return sample.length > SAMPLE * DENSE;
}

/** Whether `Accept-Encoding` contains `gzip` or `*`, without `q=0`. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const weights = new Map(
    header.split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** The connection is closed after these errors. */
const CLOSING: readonly ErrorCode[] = [
  ...(["shutting_down", "headers_too_large", "malformed_request", "expectation_failed"] as const),
];

/** Turns every error into a problem. `isChecked`: a code that the endpoint does not declare is a bug. */
export function answerError(isChecked: boolean): ErrorHandler<ApiEnv> {
  return async (thrown, { env: { call } }) => {
    const error = declared(toServiceError(thrown), call.endpoint, isChecked);
    call.errorCode = error.code;
    if (error.status >= 500 && error.code !== "shutting_down") {
      // A temporary condition, not a fault: logged without a stack.
      const isTemporary = error.retryAfterSeconds !== null && error.cause === undefined;
      // Work that was aborted because the client has disconnected.
      if (call.signal.aborted) call.log.debug({ detail: error.message }, error.code);
      else if (isTemporary) call.log.warn({ detail: error.message }, error.code);
      else call.log.error({ err: error.cause ?? error }, error.code);
    }
    // Otherwise the rest of the body would be parsed as the next request.
    const isUnread = hasBody(call.raw) && !call.raw.complete;
    const sent = await encode(call, error.status, toProblem(error, call.requestId), {
      ...problemHeaders(error, call.requestId),
      ...(call.allow !== null && { Allow: call.allow }),
      ...((isUnread || CLOSING.includes(error.code)) && { Connection: "close" }),
    });
    return respond(call, sent);
  };
}

function declared(error: ServiceError, endpoint: ApiCall["endpoint"], isChecked: boolean): ServiceError {
  if (!isChecked || endpoint === null) return error;
  const codes: readonly ErrorCode[] = [...SHARED_ERRORS, ...endpoint.errors];
  if (codes.includes(error.code)) return error;
  const text = `${endpoint.method} ${endpoint.path} answered with ${error.code}, which it does not declare`;
  return toServiceError(new Error(text, { cause: error }));
}

const valuesOf = ({ req }: Context<ApiEnv>, { parameters }: RoutePath): readonly string[] =>
  Array.from({ length: parameters }, (_, i) => req.param(String(i)) ?? "");

/** Answers `OPTIONS`, and methods that the path does not support. */
export const answerOtherMethods =
  (path: RoutePath): Handler<ApiEnv> =>
  (context) => {
    const { call } = context.env;
    const { method } = context.req;
    const values = valuesOf(context, path);
    call.route = path.template;
    const routes = [...path.routes.values()];
    if (!routes.some((route) => readParams(route, values) !== null))
      throw routes[0] === undefined ? pathNotFound() : parameterNotFound(routes[0], values);
    const headers = { Allow: path.methods, "X-Request-Id": call.requestId };
    if (method === "OPTIONS") return new Response(null, { status: 204, headers });
    call.allow = path.methods;
    throw new ServiceError("method_not_allowed", {
      detail: `${path.template} supports ${path.methods}, not ${method}.`,
    });
  };
