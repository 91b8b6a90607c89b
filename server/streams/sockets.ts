/**
 * The websockets of a process: `detection_data` and `drone_data` to the client, `telemetry` from it. A connection is rejected
 * before the upgrade, with an HTTP response.
 *
 * Each accepts one client at a time, the first two more if the account may have them. Two senders of telemetry would place
 * one camera at two positions.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import type { TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import { ERRORS } from "../../schemas/errors.ts";
import { TelemetryFault } from "../../telemetry/format.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import { type Authenticate, watchKey } from "../keys/authenticate.ts";
import { expectScope } from "../keys/scopes.ts";
import { toServiceError } from "../problem.ts";
import type { Processes, ProcessNotice } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { serialise } from "./message-queue.ts";
import { closeSocket, type Received, SocketClient, type StreamLimits } from "./socket-client.ts";
import {
  CHANNEL_SCOPES,
  type Channel,
  checkHandshake,
  HANDSHAKE_HEADERS,
  readTarget,
  type Target,
  type UpgradeCall,
  type UpgradeHook,
  writeProblem,
} from "./upgrade.ts";

interface SocketDeps {
  readonly limits: StreamLimits;
  readonly processes: Pick<Processes, "follow" | "openTelemetry" | "expectOffer">;
  readonly authenticate: Authenticate;
  /** Rejects with `process_not_found` if the key is limited to sources, and the process runs on another one. */
  expectSource(user: User, processUuid: string): Promise<void>;
  findOwner(processUuid: string): Promise<User | null>;
  /** Whether a token is valid for the streams of a process. */
  isSigned(processUuid: string, token: string): boolean;
  /** Passes the connection on to the node that runs the process. False: it is opened here. */
  readonly passOn?: PassOn | undefined;
}

export type PassOn = (
  processUuid: string,
  request: IncomingMessage,
  connection: Duplex,
  head: Buffer,
  call: UpgradeCall,
) => Promise<boolean>;

/** What the graph must offer. `drone_data` and `telemetry` exist with every process. */
const OFFERS: Partial<Record<Channel, string>> = { detection_data: "detections" };

export class Sockets {
  readonly #deps: SocketDeps;
  readonly #server: WebSocketServer;
  readonly #slots = new SocketSlots();
  readonly #buckets = new TokenBuckets();
  #isClosing = false;

  constructor(deps: SocketDeps) {
    this.#deps = deps;
    // In a variable: the types of `ws` do not have `closeTimeout` yet.
    const options = {
      noServer: true,
      // Clients are usually local; compression costs 300 kB per client and time for every message.
      perMessageDeflate: false,
      maxPayload: deps.limits.telemetryBytes,
      closeTimeout: deps.limits.closeMs,
      // Answered by `SocketClient`: pongs that are not read would queue up here.
      autoPong: false,
    };
    this.#server = new WebSocketServer(options);
    // With a listener `ws` sends no response itself.
    this.#server.on("wsClientError", () => {});
  }

  /** For the HTTP server. False: not a path of a websocket. */
  readonly upgrade: UpgradeHook = (request, connection, head, call) => {
    const target = readTarget(request, call);
    if (target === null) return false;
    this.#open(target, request, connection, head, call).catch((thrown: unknown) => {
      const error = toServiceError(thrown);
      const { status, code } = error;
      if (status >= 500 && code !== "shutting_down") call.log.error({ err: error.cause ?? error }, code);
      call.log.info({ path: nameOf(target), status, code, address: call.address }, "websocket rejected");
      writeProblem(connection, error, call.requestId, HANDSHAKE_HEADERS[status]);
    });
    return true;
  };

  /** Closes every connection. Resolves when all are closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const open = [...this.#server.clients].filter((socket) => socket.readyState !== WebSocket.CLOSED);
    await Promise.all(
      open.map((socket) => {
        const closed = new Promise((resolve) => socket.once("close", resolve));
        closeSocket(socket, 1001, "The service is shutting down.");
        return closed;
      }),
    );
  }

  async #open(
    target: Target,
    request: IncomingMessage,
    connection: Duplex,
    head: Buffer,
    call: UpgradeCall,
  ): Promise<void> {
    const { address, log, hop = null } = call;
    this.#expectOpen();
    checkHandshake(request);
    const { processes, authenticate, passOn } = this.#deps;
    const user = await this.#identify(target, address);
    if (hop === null) this.#expectPace(user);
    if (hop === null && (await passOn?.(target.processUuid, request, connection, head, call)) === true) return;
    const offer = OFFERS[target.channel];
    if (offer !== undefined) await processes.expectOffer(user, target.processUuid, offer);
    const name = nameOf(target);
    const client = await this.#createClient(user, target);
    const unfollow = await processes.follow(user, target.processUuid, listenFor(target.channel, client));
    try {
      // No await from here on: of simultaneous clients only as many pass as may.
      this.#expectOpen();
      const limit = target.channel === "telemetry" ? 1 : Math.min(user.limits.socketClients, MAX_CLIENTS);
      this.#slots.expectFree(name, limit);
      const socket = this.#accept(request, connection, head);
      this.#slots.take(name, socket);
      const { apiKey } = target;
      const unwatch = watchKey(authenticate, { apiKey, address }, this.#deps.limits.pingSeconds, () =>
        closeSocket(socket, 1008, "The API key is no longer valid."),
      );
      socket.once("close", (code) => {
        unwatch();
        unfollow();
        log.info({ path: name, code }, "websocket closed");
      });
      log.info({ path: name, address, username: user.username }, "websocket opened");
      client.connect(socket);
    } catch (error) {
      unfollow();
      throw error;
    }
  }

  /** The user of the key, or the owner of the process if the URL is signed: such a URL is only for reading. */
  async #identify({ apiKey, token, processUuid, channel }: Target, address: string): Promise<User> {
    const { authenticate, expectSource, isSigned } = this.#deps;
    if (apiKey === null && token !== null && channel !== "telemetry") {
      if (isSigned(processUuid, token)) return expectOwner(this.#deps, processUuid);
      throw new ServiceError("signature_invalid", {
        detail: "This URL has expired or is for another process; request a new one, or send your API key.",
      });
    }
    const user = await authenticate(apiKey, address);
    expectScope(user, CHANNEL_SCOPES[channel]);
    await expectSource(user, processUuid);
    return user;
  }

  #expectPace({ uuid, limits: { requestsPerMinute } }: User): void {
    const wait = this.#buckets.take(uuid, requestsPerMinute);
    if (wait === 0) return;
    const detail = `Rate limit reached: this key may open ${requestsPerMinute} websockets per minute.`;
    throw new ServiceError("rate_limited", { detail, retryAfterSeconds: wait });
  }

  #expectOpen(): void {
    if (!this.#isClosing) return;
    throw new ServiceError("shutting_down", { detail: "The service is shutting down. Try again later." });
  }

  #accept(request: IncomingMessage, connection: Duplex, head: Buffer): WebSocket {
    let accepted: WebSocket | null = null;
    this.#server.handleUpgrade(request, connection, head, (socket) => {
      accepted = socket;
    });
    // The callback is synchronous, unless the client has gone or the handshake is invalid.
    if (accepted === null) throw new ServiceError("malformed_request", { detail: "The websocket handshake failed." });
    return accepted;
  }

  async #createClient(user: User, { channel, processUuid }: Target): Promise<SocketClient> {
    if (channel !== "telemetry") {
      // Messages of clients that keep the connection alive this way are ignored.
      return new SocketClient(this.#deps.limits, () => {});
    }
    const { limits, processes } = this.#deps;
    const receive = await processes.openTelemetry(user, processUuid);
    const client: SocketClient = new SocketClient(
      limits,
      passTelemetry(receive, limits.receivedPerSecond, (refusal) => client.send(serialise(refusal))),
    );
    return client;
  }
}

/** Rejects with `process_not_found`. */
export async function expectOwner({ findOwner }: Pick<SocketDeps, "findOwner">, processUuid: string): Promise<User> {
  const owner = await findOwner(processUuid);
  if (owner !== null) return owner;
  throw new ServiceError("process_not_found", { detail: `process ${processUuid} does not exist` });
}

const nameOf = ({ processUuid, channel }: Target): string => `/process/${processUuid}/${channel}`;

function listenFor(channel: Channel, client: SocketClient): (notice: ProcessNotice) => void {
  let reason = "The process has ended.";
  return (notice) => {
    if (notice.type === "message" && notice.channel === channel) client.send(serialise(notice.message));
    else if (notice.type === "state" && notice.state === "finished") reason = "The process has finished.";
    else if (notice.type === "state" && notice.error !== null) reason = `The process has failed: ${notice.error.code}.`;
    else if (notice.type === "ended") client.end(reason);
  };
}

/** Of one websocket, whatever an account may have. */
const MAX_CLIENTS = 64;

/** The clients of each websocket. */
class SocketSlots {
  readonly #holders = new Map<string, Set<WebSocket>>();

  /** A closing connection does not count: a client can reconnect at once. */
  expectFree(name: string, limit: number): void {
    const open = [...(this.#holders.get(name) ?? [])].filter(({ readyState }) => readyState === WebSocket.OPEN);
    if (open.length < limit) return;
    const detail =
      limit === 1
        ? `Another client is connected to ${name}, which accepts one at a time. Close that connection first.`
        : `${open.length} clients are connected to ${name}, which accepts ${limit} of this account. Close one of these connections first.`;
    throw new ServiceError("socket_in_use", { detail });
  }

  /** Call right after `expectFree`. */
  take(name: string, socket: WebSocket): void {
    const holders = this.#holders.get(name) ?? new Set();
    for (const held of holders) if (held.readyState !== WebSocket.OPEN) held.terminate();
    this.#holders.set(name, holders.add(socket));
    socket.once("close", () => {
      holders.delete(socket);
      if (holders.size === 0 && this.#holders.get(name) === holders) this.#holders.delete(name);
    });
  }
}

/** Interval of responses to a client that sends too fast. */
const EXCESS_MS = 1_000;

/** Passes the messages of a client to the process. Only invalid ones are answered. */
function passTelemetry(
  receive: Awaited<ReturnType<Processes["openTelemetry"]>>,
  perSecond: number,
  answer: (refusal: TelemetryRefusal) => void,
): (received: Received) => void {
  let excessSentMs = Number.NEGATIVE_INFINITY;
  const refuse = (thrown: Error): void => {
    const error = toRefused(thrown);
    const nowMs = performance.now();
    const isExcess = error.code === "rate_limited";
    if (isExcess && nowMs - excessSentMs < EXCESS_MS) return;
    if (isExcess) excessSentMs = nowMs;
    answer(toRefusal(error));
  };
  return (received) => {
    if (received.type === "text") receive({ payload: received.text, refuse });
    else if (received.type === "binary") {
      const detail = "Expected one JSON object in each text frame; this frame is binary.";
      refuse(new ServiceError("malformed_json", { detail }));
    } else {
      const detail = `Expected at most ${perSecond} messages per second; the others are dropped.`;
      refuse(new ServiceError("rate_limited", { detail }));
    }
  };
}

/** Text that is not JSON has no faults with paths. */
function toRefused(error: Error): ServiceError {
  if (!(error instanceof TelemetryFault)) return toServiceError(error);
  const { message: detail, faults } = error;
  if (faults.length === 0) return new ServiceError("malformed_json", { detail });
  return new ServiceError("invalid_input", { detail, errors: faults });
}

function toRefusal(error: ServiceError): TelemetryRefusal {
  const { code, message, errors } = error;
  return {
    error: { code, title: ERRORS[code].title, detail: message, ...(errors !== null && { errors: [...errors] }) },
  };
}
