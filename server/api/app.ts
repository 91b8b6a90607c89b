/** The HTTP API: endpoints in, a server out. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { Hono } from "hono";
import type { Logger } from "pino";
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import { ServiceError } from "../service-error.ts";
import { type Authenticate, authenticate, type IsSigned, limitRequests, OpenRequests } from "./access.ts";
import { answerError, answerOtherMethods, callEndpoint, matchParams, pathNotFound, shuttingDown } from "./answers.ts";
import { ClientAddresses } from "./client-address.ts";
import { Connections } from "./connections.ts";
import { type Answered, type ApiEnv, describeRequest, logAccess, readRequestId } from "./context.ts";
import { cors } from "./cors.ts";
import { documentEndpoints } from "./docs.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import {
  createHttpServer,
  findHeadFault,
  listen,
  refuseUpgrade,
  takeUpgrade,
  type UpgradeHook,
} from "./http-server.ts";
import { validateInput } from "./input.ts";
import { problemHeaders, toProblem, toServiceError } from "./problem.ts";
import { RequestScheduler } from "./request-scheduler.ts";
import { groupByPath } from "./routes.ts";

export interface AppDeps {
  readonly config: Config;
  /** Those that describe them (`/openapi.json`, `/docs`) come by themselves. */
  readonly endpoints: readonly AnyEndpoint[];
  readonly authenticate: Authenticate;
  /** Without it no address is signed. */
  readonly isSigned?: IsSigned;
  readonly log: Logger;
  /** Called for every answer, for the metrics. */
  readonly observe?: (answered: Answered) => void;
  /** Websockets. */
  readonly onUpgrade?: UpgradeHook;
}

export interface App {
  /** Rejects with words for the operator when it cannot listen. */
  listen(): Promise<RunningApp>;
}

export interface RunningApp {
  /** What it listens on: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** From now on every new request is answered with 503 `shutting_down`. */
  refuse(): void;
  /** Stops listening; answers that are under way have so long to end. */
  close(graceMs: number): Promise<void>;
}

const SWEEP_MS = 50;

/** Throws on endpoints that contradict each other and on settings that cannot be. */
export function createApp({
  config,
  endpoints,
  authenticate: authenticateKey,
  isSigned,
  log,
  observe,
  onUpgrade,
}: AppDeps): App {
  const { http } = config;
  const addresses = new ClientAddresses(http.trusted_proxies, config.public_url);
  const scheduler = new RequestScheduler();
  const access = {
    http,
    authenticate: authenticateKey,
    isSigned: isSigned ?? (() => false),
    buckets: new TokenBuckets(),
  };
  const open = new OpenRequests();
  let isShuttingDown = false;

  // Clients that join addresses may end them with a slash: it means the same path.
  const hono = new Hono<ApiEnv>({ strict: false });
  hono.use(describeRequest(addresses, log));
  hono.use(logAccess(config.log.access, log, observe));
  hono.use(cors(http.cors_origins));
  hono.use(async (context, next) => {
    await next();
    context.res.headers.set("X-Request-Id", context.var.info.requestId);
  });
  hono.use((_, next) => {
    if (isShuttingDown) throw shuttingDown();
    return next();
  });
  for (const path of groupByPath([...endpoints, ...documentEndpoints(endpoints)])) {
    for (const route of path.routes.values())
      hono.on(
        route.endpoint.method,
        path.pattern,
        matchParams(route, path),
        authenticate(route.endpoint, access),
        limitRequests(route.endpoint, access, open),
        validateInput(route, { http, scheduler }),
        callEndpoint(route, http.check_answers),
      );
    hono.all(path.pattern, answerOtherMethods(path));
  }
  hono.notFound(() => {
    throw pathNotFound();
  });
  hono.onError(answerError(http.check_answers));

  return {
    async listen() {
      const listener = getRequestListener((request, env) => hono.fetch(request, env as HttpBindings), {
        hostname: "localhost",
        errorHandler: (error) => answerUnreadable(error, log),
      });
      const connections = new Connections(config.http, addresses, scheduler, log);
      const server = createHttpServer(config.http, connections, listener);
      const upgraded = new Set<Duplex>();
      server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        if (!connections.upgrade(socket as Socket)) return;
        const requestId = readRequestId(request);
        upgraded.add(socket);
        socket.once("close", () => upgraded.delete(socket));
        socket.on("error", () => socket.destroy());
        const refuse = (error: unknown) => refuseUpgrade(socket, error, requestId);
        const fault = isShuttingDown ? shuttingDown() : findHeadFault(request);
        if (fault !== null) return refuse(fault);
        const call = { ...addresses.find(request), requestId, log: log.child({ request_id: requestId }) };
        scheduler.schedule(originOf(call.address), () => {
          if (!socket.destroyed) takeUpgrade(() => onUpgrade?.(request, socket, head, call) ?? false, refuse, call.log);
        });
      });
      const { address, port, family } = await listen(server, config.http.host, config.http.port);
      const scheme = config.http.tls_cert === null ? "http" : "https";
      return {
        url: `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`,
        port,
        refuse() {
          isShuttingDown = true;
        },
        close(graceMs) {
          isShuttingDown = true;
          return closeServer(server, upgraded, graceMs);
        },
      };
    },
  };
}

/** A target or a host that is no URL, or something that went wrong before the frame could see it. */
function answerUnreadable(error: unknown, log: Logger): Response {
  const requestId = randomUUID();
  const isTheirs = error instanceof RequestError;
  const told = isTheirs
    ? new ServiceError("malformed_request", { detail: `The request cannot be read: ${error.message}.`, cause: error })
    : toServiceError(error);
  if (!isTheirs) log.error({ err: error, request_id: requestId }, told.code);
  const headers = { ...problemHeaders(told, requestId), Connection: "close" };
  return new Response(JSON.stringify(toProblem(told, requestId)), { status: told.status, headers });
}

async function closeServer(server: Server, upgraded: ReadonlySet<Duplex>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that is idle once its answer is out would otherwise be kept for its next request.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(limit);
}
