/** What happens to every request, whatever it asks for: key, limits, checks, answer. */
import type { Config } from "../../schemas/config.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import { goingOn } from "../media/sign.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { acceptsGzip, compress, LEAST_COMPRESSED } from "./compress.ts";
import { hasBody } from "./connections.ts";
import type { Cors } from "./cors.ts";
import type { Access, AnyEndpoint, JsonAnswer } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { ANSWER_HEADERS, problemHeaders, toProblem, toServiceError } from "./problem.ts";
import { letContinue } from "./read-body.ts";
import { readInput } from "./read-input.ts";
import type { RequestScheduler } from "./request-scheduler.ts";
import { type Route, type RoutePath, readParams } from "./routes.ts";
import { SHARED_ERRORS } from "./shared-errors.ts";
import type { TokenBuckets } from "./token-buckets.ts";

/** Rejects with `ServiceError`. Wrong keys count against the address. */
export type Authenticate = (key: string | null, address: string) => Promise<User>;

/** Whether a signed address is good: `source/<uuid>` and the token. */
export type IsSigned = (resource: string, token: string) => boolean;

export interface FrameParts {
  readonly http: Config["http"];
  readonly authenticate: Authenticate;
  readonly isSigned: IsSigned;
  readonly cors: Cors;
  readonly buckets: TokenBuckets;
  readonly scheduler: RequestScheduler;
  readonly isShuttingDown: () => boolean;
}

const KEY_IN_URL: readonly string[] = ["url-key", "bearer", "signed"] satisfies Access[];
const NO_ROUTE = "There is no such path here; `GET /openapi.json` lists all of them.";

export class Frame {
  readonly #parts: FrameParts;
  /** Requests under way, by the user that they are of. */
  readonly #underWay = new Map<string, number>();

  constructor(parts: FrameParts) {
    this.#parts = parts;
  }

  /** Never rejects. `values` are those of the path's parameters, in order. */
  async answer(exchange: Exchange, path: RoutePath | null, values: readonly string[]): Promise<Response> {
    let route: Route | undefined;
    try {
      if (this.#parts.isShuttingDown()) throw shuttingDown();
      if (path === null) throw new ServiceError("path_not_found", { detail: NO_ROUTE });
      exchange.route = path.template;
      const method = exchange.incoming.method ?? "GET";
      if (method === "OPTIONS") return this.#answerOptions(exchange, path, values);
      route = path.routes.get((method === "HEAD" ? "GET" : method) as AnyEndpoint["method"]);
      if (route === undefined) return this.#refuseMethod(exchange, path, values);
      const params = readParams(route, values);
      if (params === null) throw new ServiceError("path_not_found", { detail: NO_ROUTE });
      return await this.#handle(exchange, route, params);
    } catch (error) {
      return this.#answerError(exchange, toServiceError(error), route);
    }
  }

  async #handle(exchange: Exchange, route: Route, params: Record<string, string>): Promise<Response> {
    const { endpoint } = route;
    const search = readSearch(exchange.incoming.url ?? "");
    const isSigned = endpoint.access === "signed" && this.#isSigned(exchange, endpoint, params, search);
    const user = isSigned ? null : await this.#identify(exchange, endpoint, search);
    const { query, body } = await readInput(exchange, route, search, this.#parts);
    const answer = await endpoint.handle({
      user,
      params,
      query,
      body,
      publicUrl: exchange.publicUrl,
      address: exchange.address,
      requestId: exchange.requestId,
      beganMs: exchange.beganMs,
      headers: exchange.request.headers,
      raw: exchange.incoming,
      letContinue: () => letContinue(exchange.incoming, exchange.outgoing),
      get log() {
        return exchange.log;
      },
      get signal() {
        return exchange.signal;
      },
    });
    return answer instanceof Response
      ? this.#passOn(exchange, answer)
      : this.#answerJson(exchange, this.#checked(answer, route));
  }

  /** Throws when there is nothing but a token, and it is not good. */
  #isSigned(
    { incoming }: Exchange,
    { path, isGoingOn }: AnyEndpoint,
    params: Readonly<Record<string, string>>,
    search: URLSearchParams,
  ): boolean {
    const token = search.get("token");
    if (token === null) return false;
    const [, kind, name = ""] = path.split("/");
    const resource = `${kind}/${params[name.slice(1, -1)]}`;
    if (this.#parts.isSigned(resource, token)) return true;
    if (isGoingOn?.(params) === true && this.#parts.isSigned(goingOn(resource), token)) return true;
    if (incoming.headers.api_key !== undefined || search.has("api_key")) return false;
    throw new ServiceError("signature_invalid", {
      detail: "This address has expired, or is for something else; ask for a new one, or send your API key.",
    });
  }

  async #identify(exchange: Exchange, { access }: AnyEndpoint, search: URLSearchParams): Promise<User | null> {
    if (access === "none") return null;
    const header = exchange.incoming.headers.api_key;
    const bearer = access === "bearer" ? readBearer(exchange.incoming.headers.authorization) : null;
    const inUrl = KEY_IN_URL.includes(access) ? search.get("api_key") : null;
    const key = (typeof header === "string" && header !== "" ? header : null) ?? bearer ?? inUrl;
    if (access === "optional") {
      // A key that is not valid shows what no key shows: this must also answer while the database does not.
      if (key !== null) exchange.user = await this.#parts.authenticate(key, exchange.address).catch(() => null);
      return exchange.user;
    }
    const user = await this.#parts.authenticate(key, exchange.address);
    exchange.user = user;
    this.#expectPlace(exchange, user);
    // What is watched comes in many small pieces; the media hub has limits of its own.
    if (access === "signed") return user;
    const wait = this.#parts.buckets.take(user.uuid, user.limits.requestsPerMinute);
    if (wait === 0) return user;
    throw new ServiceError("rate_limited", {
      detail: `This key may make ${user.limits.requestsPerMinute} requests a minute.`,
      retryAfterSeconds: wait,
    });
  }

  #expectPlace({ outgoing }: Exchange, { uuid }: User): void {
    const { requests_per_key: most } = this.#parts.http;
    const count = this.#underWay.get(uuid) ?? 0;
    if (count >= most)
      throw new ServiceError("rate_limited", {
        detail: `${count} requests of this key are under way; the limit is ${most}. Wait for one to end, or close a stream.`,
        retryAfterSeconds: 1,
      });
    if (outgoing.closed) return;
    this.#underWay.set(uuid, count + 1);
    outgoing.once("close", () => {
      const left = (this.#underWay.get(uuid) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(uuid);
      else this.#underWay.set(uuid, left);
    });
  }

  /** By its schema, when the configuration asks for it: what does not fit is a fault of ours. */
  #checked(answer: JsonAnswer, { endpoint, checkAnswer }: Route): JsonAnswer {
    if (!this.#parts.http.check_answers) return answer;
    const check = checkAnswer.get(answer.status);
    const where = `${endpoint.method} ${endpoint.path}`;
    if (check === undefined) throw new Error(`${where} answered with ${answer.status}, which it does not declare`);
    const faults = check(JSON.parse(JSON.stringify(answer.body)));
    if (faults.length === 0) return answer;
    const words = faults.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
    throw new Error(`the answer of ${where} does not fit its schema: ${words}`);
  }

  async #answerJson(exchange: Exchange, { status, body, headers }: JsonAnswer): Promise<Response> {
    const text = JSON.stringify(body);
    const own = {
      ...ANSWER_HEADERS,
      "Content-Type": "application/json",
      "X-Request-Id": exchange.requestId,
      ...this.#corsHeaders(exchange),
      ...headers,
    };
    return this.#send(exchange, status, text, own);
  }

  async #send(
    { incoming }: Exchange,
    status: number,
    text: string,
    headers: Record<string, string>,
  ): Promise<Response> {
    const isHead = incoming.method === "HEAD";
    if (text.length < LEAST_COMPRESSED) return respond(status, text, headers, isHead);
    const vary = [headers.Vary, "Accept-Encoding"].filter((name) => name !== undefined).join(", ");
    if (!acceptsGzip(incoming.headers["accept-encoding"]))
      return respond(status, text, { ...headers, Vary: vary }, isHead);
    const bytes = await compress(text);
    return respond(status, bytes, { ...headers, Vary: vary, "Content-Encoding": "gzip" }, isHead);
  }

  /** A response of the endpoint's own. */
  #passOn(exchange: Exchange, response: Response): Response {
    const extra = { "X-Request-Id": exchange.requestId, ...this.#corsHeaders(exchange) };
    for (const [name, value] of Object.entries(extra))
      if (name === "Vary") response.headers.append(name, value);
      else response.headers.set(name, value);
    if (!response.headers.has("X-Content-Type-Options")) response.headers.set("X-Content-Type-Options", "nosniff");
    if (exchange.incoming.method === "HEAD") void response.body?.cancel();
    return response;
  }

  #corsHeaders({ incoming }: Exchange): Readonly<Record<string, string>> {
    return this.#parts.cors.headersFor(incoming.headers.origin);
  }

  #answerOptions(exchange: Exchange, path: RoutePath, values: readonly string[]): Response {
    expectPath(path, values);
    const { origin } = exchange.incoming.headers;
    return new Response(null, {
      status: 204,
      headers: {
        Allow: path.methods,
        "X-Request-Id": exchange.requestId,
        ...this.#corsHeaders(exchange),
        ...this.#parts.cors.preflightHeaders(origin, path.methods),
      },
    });
  }

  #refuseMethod(exchange: Exchange, path: RoutePath, values: readonly string[]): Response | Promise<Response> {
    expectPath(path, values);
    const error = new ServiceError("method_not_allowed", {
      detail: `${path.template} takes ${path.methods}, not ${exchange.incoming.method}.`,
    });
    return this.#answerError(exchange, error, undefined, { Allow: path.methods });
  }

  /** What passes by itself, and is nobody's fault, needs no trace. */
  #logFault(exchange: Exchange, told: ServiceError): void {
    const isPassing = told.retryAfterSeconds !== null && told.cause === undefined;
    if (isPassing) exchange.log.warn({ detail: told.message }, told.code);
    else exchange.log.error({ err: told.cause ?? told }, told.code);
  }

  #answerError(
    exchange: Exchange,
    error: ServiceError,
    route: Route | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const told = this.#judgeCode(error, route?.endpoint);
    exchange.code = told.code;
    if (told.status >= 500 && told.code !== "shutting_down") this.#logFault(exchange, told);
    // What of the body has not arrived would be taken for the next request's.
    const isUnread = hasBody(exchange.incoming) && !exchange.incoming.complete;
    return this.#send(exchange, told.status, JSON.stringify(toProblem(told, exchange.requestId)), {
      ...problemHeaders(told, exchange.requestId),
      ...this.#corsHeaders(exchange),
      ...headers,
      ...((isUnread || told.code === "shutting_down") && { Connection: "close" }),
    });
  }

  /** In tests, a code that the endpoint does not declare is a fault of ours. */
  #judgeCode(error: ServiceError, endpoint: AnyEndpoint | undefined): ServiceError {
    if (!this.#parts.http.check_answers || endpoint === undefined) return error;
    const declared: readonly ErrorCode[] = [...SHARED_ERRORS, ...endpoint.errors];
    if (declared.includes(error.code)) return error;
    const words = `${endpoint.method} ${endpoint.path} answered with ${error.code}, which it does not declare`;
    return toServiceError(new Error(words, { cause: error }));
  }
}

/** Throws when none of its endpoints takes such values. */
function expectPath(path: RoutePath, values: readonly string[]): void {
  const isThere = [...path.routes.values()].some((route) => readParams(route, values) !== null);
  if (!isThere) throw new ServiceError("path_not_found", { detail: NO_ROUTE });
}

function respond(status: number, body: string | Buffer, headers: Record<string, string>, isHead: boolean): Response {
  if (!isHead) return new Response(body, { status, headers });
  return new Response(null, { status, headers: { ...headers, "Content-Length": String(Buffer.byteLength(body)) } });
}

export const shuttingDown = (): ServiceError =>
  new ServiceError("shutting_down", {
    detail: "The service is being shut down; ask again soon.",
    retryAfterSeconds: 5,
  });

const readBearer = (authorization: string | undefined): string | null =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? null;

const readSearch = (target: string): URLSearchParams => {
  const start = target.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
};
