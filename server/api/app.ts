/** The HTTP API: a Hono application made from endpoints, and the server that runs it. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { Hono } from "hono";
import type { Logger } from "pino";
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import type { Hop } from "../cluster/peers.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import type { AnsweredRequest } from "../metrics/metrics.ts";
import { problemResponse, toServiceError } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type UpgradeHook, writeProblem } from "../streams/upgrade.ts";
import type { Tracing } from "../tracing/open-tracing.ts";
import type { Span } from "../tracing/span.ts";
import { AccessControl, type IsSigned } from "./access.ts";
import { answerError, answerOtherMethods, callEndpoint, matchParams, pathNotFound, shuttingDown } from "./answers.ts";
import { expectMatches } from "./conditional.ts";
import { type ConnectionLimits, Connections, LIMITS } from "./connections.ts";
import { ApiCall, type ApiEnv, ClientAddresses, logAccess, readRequestId } from "./context.ts";
import { cors } from "./cors.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import type { Forwarder } from "./forward.ts";
import { createHttpServer, findHeadFault, listen, runUpgrade } from "./http-server.ts";
import { validateInput } from "./input.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { RequestScheduler } from "./request-scheduler.ts";
import { groupByPath } from "./routes.ts";
import { type FindSourceOf, limitSources } from "./source-limits.ts";
import { suggestPaths } from "./suggest-path.ts";
import { documentEndpoints } from "./web-pages.ts";

export interface AppDeps {
  readonly config: Config;
  /** `/openapi.json` and `/docs` are added. */
  readonly endpoints: readonly AnyEndpoint[];
  readonly authenticate: Authenticate;
  /** Without it no signed URL is accepted. */
  readonly isSigned?: IsSigned;
  /** Without it, keys that are limited to sources reach none. */
  readonly findSourceOf?: FindSourceOf;
  readonly log: Logger;
  /** Called for every answer, for the metrics. */
  readonly observe?: (answered: AnsweredRequest) => void;
  /** Websockets. */
  readonly onUpgrade?: UpgradeHook;
  /** Where other nodes share the database. */
  readonly forwarder?: Forwarder;
  /** Without it, idempotency keys have no effect, and changes with `If-Match` are not serialised. */
  readonly sql?: Sql | null;
  /** Null: nothing is traced. */
  readonly tracing?: Tracing | null;
  /** For tests. */
  readonly limits?: Partial<ConnectionLimits>;
}

export interface RunningApp {
  /** The address it listens on: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Answers every new request with 503 `shutting_down`. */
  rejectRequests(): void;
  /** Stops listening. Running requests have this long to finish. */
  close(graceMs: number): Promise<void>;
}

const SWEEP_MS = 50;

/** Rejects with a message for the operator when it cannot listen, and if endpoints conflict or the configuration is invalid. */
export async function startApp({
  config,
  endpoints,
  authenticate,
  isSigned = () => false,
  findSourceOf = async () => null,
  log,
  observe = () => {},
  onUpgrade,
  forwarder,
  sql = null,
  tracing = null,
  limits: givenLimits,
}: AppDeps): Promise<RunningApp> {
  const { http } = config;
  const addresses = new ClientAddresses(http.trusted_proxies, config.public_url);
  const scheduler = new RequestScheduler();
  const isChecked = http.check_answers;
  const access = new AccessControl(authenticate, isSigned, http);
  const kept = new KeptAnswers();
  const expectMatch = expectMatches(sql);
  let isShuttingDown = false;

  // A trailing slash means the same path: clients that join URLs may add one.
  const hono = new Hono<ApiEnv>({ strict: false });
  if (http.cors_origins.length > 0) hono.use(cors(http.cors_origins));
  const findFault = (request: IncomingMessage) => (isShuttingDown ? shuttingDown() : findHeadFault(request));
  hono.use(async ({ env: { call } }, next) => {
    const fault = findFault(call.raw);
    if (fault !== null) throw fault;
    const hop = forwarder?.peers.readHop(call.raw) ?? null;
    if (hop === null) return next();
    call.setHop(hop);
    return (await forwarder?.answerNode(call)) ?? next();
  });
  const paths = groupByPath([...endpoints, ...documentEndpoints(endpoints)]);
  for (const path of paths) {
    for (const route of path.routes.values())
      hono.on(
        route.endpoint.method,
        path.pattern,
        matchParams(route, path),
        access.admitTo(route.endpoint),
        ...(forwarder === undefined ? [] : [forwarder.toOwner(route.endpoint)]),
        validateInput(route, { http, scheduler }),
        limitSources(route.endpoint, findSourceOf),
        ...[expectMatch(route.endpoint, path) ?? []].flat(),
        callEndpoint(route, path, { kept, isChecked, sql }),
      );
    hono.all(path.pattern, answerOtherMethods(path));
  }
  const suggestPath = suggestPaths(paths.map(({ template }) => template));
  hono.notFound(({ req }) => {
    throw pathNotFound(suggestPath(req.path));
  });
  hono.onError(answerError(isChecked));

  const answer = (request: Request, { incoming, outgoing }: HttpBindings): Response | Promise<Response> => {
    const span = tracing === null ? null : beginSpan(tracing, incoming as IncomingMessage);
    const call = new ApiCall(incoming as IncomingMessage, outgoing as ServerResponse, addresses, log, span);
    outgoing.once("close", () => {
      const seconds = (performance.now() - call.startedMs) / 1000;
      const answered = { method: incoming.method ?? "", route: call.route, status: outgoing.statusCode, seconds };
      observe(answered);
      if (config.log.access) logAccess(call, answered, log);
      if (span !== null) endSpan(span, call, answered);
    });
    return hono.fetch(request, { call });
  };

  const listener = getRequestListener((request, env) => answer(request, env as HttpBindings), {
    hostname: "localhost",
    errorHandler: (error) => answerUnreadable(error, log),
  });
  const limits = { ...LIMITS, ...givenLimits };
  const connections = new Connections({ ...http, ...limits }, addresses, scheduler, log);
  const server = createHttpServer(http, limits, connections, listener);
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!connections.upgrade(socket as Socket)) return;
    const requestId = readRequestId(request);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", () => socket.destroy());
    const reject = (error: unknown) => writeProblem(socket, error, requestId);
    const fault = findFault(request);
    if (fault !== null) return reject(fault);
    let hop: Hop | null;
    try {
      hop = forwarder?.peers.readHop(request) ?? null;
    } catch (error) {
      return reject(error);
    }
    const call = { ...addresses.find(request), ...hop, hop, requestId, log: log.child({ request_id: requestId }) };
    scheduler.schedule(originOf(call.address), () => {
      if (!socket.destroyed) runUpgrade(() => onUpgrade?.(request, socket, head, call) ?? false, reject, call.log);
    });
  });
  const { address, port, family } = await listen(server, http.host, http.port);
  const scheme = http.tls_cert === null ? "http" : "https";
  return {
    url: `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    port,
    rejectRequests() {
      isShuttingDown = true;
    },
    close(graceMs) {
      isShuttingDown = true;
      return closeServer(server, upgraded, graceMs);
    },
  };
}

/** Without the query, which may have secrets. */
const beginSpan = (tracing: Tracing, { method = "", headers }: IncomingMessage): Span =>
  tracing.begin(method, headers.traceparent as string | undefined, { "http.request.method": method });

function endSpan(span: Span, call: ApiCall, { method, route, status }: AnsweredRequest): void {
  span.end({
    name: route === null ? method : `${method} ${route}`,
    attributes: {
      ...(route !== null && { "http.route": route }),
      ...{ "http.response.status_code": status, "windhover.request_id": call.requestId },
      ...(call.errorCode !== null && { "error.type": call.errorCode }),
    },
    error: status >= 500 ? (call.errorCode ?? String(status)) : undefined,
  });
}

/** A request target or host that is not a valid URL, or a fault outside of the application. */
function answerUnreadable(error: unknown, log: Logger): Response {
  const requestId = randomUUID();
  const isRequestFault = error instanceof RequestError;
  const answered = isRequestFault
    ? new ServiceError("malformed_request", { detail: `The request cannot be read: ${error.message}.`, cause: error })
    : toServiceError(error);
  if (!isRequestFault) log.error({ err: error, request_id: requestId }, answered.code);
  return problemResponse(answered, requestId, { Connection: "close" });
}

async function closeServer(server: Server, upgraded: ReadonlySet<Duplex>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Connections that become idle after their answer would otherwise stay open for a next request.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(limit);
}
