/** Answers: JSON, custom responses of endpoints, and errors as problem documents (RFC 9457). */
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { Context, ErrorHandler, Handler } from "hono";
import type { ErrorCode } from "../../schemas/errors.ts";
import { ANSWER_HEADERS, problemHeaders, toProblem, toServiceError } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import { hasBody } from "./connections.ts";
import type { ApiEnv, ApiMiddleware } from "./context.ts";
import { type AnyEndpoint, type JsonAnswer, SHARED_ERRORS } from "./endpoint.ts";
import { letContinue } from "./input.ts";
import { type Route, type RoutePath, readParams } from "./routes.ts";

export const pathNotFound = (): ServiceError =>
  new ServiceError("path_not_found", { detail: "This path does not exist; `GET /openapi.json` lists all paths." });

export const shuttingDown = (): ServiceError =>
  new ServiceError("shutting_down", {
    detail: "The service is shutting down; retry in a moment.",
    retryAfterSeconds: 5,
  });

/** Calls the endpoint: the last handler of a route. */
export function callEndpoint(route: Route, isChecked: boolean): Handler<ApiEnv> {
  const { endpoint } = route;
  return async (context) => {
    const { info, user, params, input } = context.var;
    const { incoming, outgoing } = context.env;
    const answer = await endpoint.handle({
      ...{ user, params, query: input.query, body: input.body },
      ...{ publicUrl: info.publicUrl, address: info.address, requestId: info.requestId, startedMs: info.startedMs },
      headers: context.req.raw.headers,
      raw: incoming,
      letContinue: () => letContinue(incoming, outgoing),
      get log() {
        return info.log;
      },
      get signal() {
        return info.signal;
      },
    });
    if (answer instanceof Response) {
      if (!answer.headers.has("X-Content-Type-Options")) answer.headers.set("X-Content-Type-Options", "nosniff");
      if (context.req.method === "HEAD") void answer.body?.cancel();
      return answer;
    }
    if (isChecked) expectValid(answer, route);
    const { status, body, headers } = answer;
    return sendJson(context, status, body, { ...ANSWER_HEADERS, "Content-Type": "application/json", ...headers });
  };
}

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
async function sendJson(
  { env, req }: Context<ApiEnv>,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const text = JSON.stringify(body);
  const isHead = req.method === "HEAD";
  if (text.length < MIN_COMPRESSED) return respond(status, text, headers, isHead);
  const vary = { ...headers, Vary: "Accept-Encoding" };
  if (!acceptsGzip(env.incoming.headers["accept-encoding"])) return respond(status, text, vary, isHead);
  return respond(status, await compress(text), { ...vary, "Content-Encoding": "gzip" }, isHead);
}

function respond(status: number, body: string | Buffer, headers: Record<string, string>, isHead: boolean): Response {
  if (!isHead) return new Response(body, { status, headers });
  return new Response(null, { status, headers: { ...headers, "Content-Length": String(Buffer.byteLength(body)) } });
}

const zip = promisify(gzip);
/** Shorter texts are not worth compressing. */
const MIN_COMPRESSED = 1024;

export const compress = (text: string): Promise<Buffer> => zip(text, { level: constants.Z_BEST_SPEED });

/** Whether `Accept-Encoding` contains `gzip` or `*`, without `q=0`. */
export function acceptsGzip(header: string | null | undefined): boolean {
  if (header === undefined || header === null) return false;
  const weights = new Map(
    header.split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** Turns every error of a handler or middleware into a problem. `isChecked`: a code that the endpoint does not declare is a bug. */
export function answerError(isChecked: boolean): ErrorHandler<ApiEnv> {
  return (thrown, context) => {
    const { info } = context.var;
    const { incoming } = context.env;
    const error = declared(toServiceError(thrown), info.endpoint, isChecked);
    info.errorCode = error.code;
    if (error.status >= 500 && error.code !== "shutting_down") {
      // A temporary condition, not a fault: logged without a stack.
      const isTemporary = error.retryAfterSeconds !== null && error.cause === undefined;
      if (isTemporary) info.log.warn({ detail: error.message }, error.code);
      else info.log.error({ err: error.cause ?? error }, error.code);
    }
    // Otherwise the rest of the body would be parsed as the next request.
    const isUnread = hasBody(incoming) && !incoming.complete;
    return sendJson(context, error.status, toProblem(error, info.requestId), {
      ...problemHeaders(error, info.requestId),
      ...(info.allow !== null && { Allow: info.allow }),
      ...((isUnread || error.code === "shutting_down") && { Connection: "close" }),
    });
  };
}

function declared(error: ServiceError, endpoint: AnyEndpoint | null, isChecked: boolean): ServiceError {
  if (!isChecked || endpoint === null) return error;
  const codes: readonly ErrorCode[] = [...SHARED_ERRORS, ...endpoint.errors];
  if (codes.includes(error.code)) return error;
  const text = `${endpoint.method} ${endpoint.path} answered with ${error.code}, which it does not declare`;
  return toServiceError(new Error(text, { cause: error }));
}

/** Sets `params`. A value that does not match its schema means that the path does not exist. */
export const matchParams =
  (route: Route, path: RoutePath): ApiMiddleware =>
  (context, next) => {
    const { info } = context.var;
    info.route = path.template;
    const params = readParams(route, valuesOf(context, path));
    if (params === null) throw pathNotFound();
    info.endpoint = route.endpoint;
    context.set("params", params);
    return next();
  };

const valuesOf = (context: Context<ApiEnv>, { parameters }: RoutePath): readonly string[] =>
  Array.from({ length: parameters }, (_, i) => context.req.param(String(i)) ?? "");

/** Answers `OPTIONS`, and methods that the path does not support. */
export const answerOtherMethods =
  (path: RoutePath): Handler<ApiEnv> =>
  (context) => {
    const { method } = context.req;
    const values = valuesOf(context, path);
    context.var.info.route = path.template;
    if (![...path.routes.values()].some((route) => readParams(route, values) !== null)) throw pathNotFound();
    if (method === "OPTIONS") return new Response(null, { status: 204, headers: { Allow: path.methods } });
    context.var.info.allow = path.methods;
    throw new ServiceError("method_not_allowed", {
      detail: `${path.template} supports ${path.methods}, not ${method}.`,
    });
  };
