/**
 * The websockets of a process: `detection_data` and `drone_data` out, `telemetry` in. Whatever speaks against a connection
 * is said before the upgrade, as an HTTP answer.
 *
 * Each takes one client at a time, telemetry too: two senders would move one camera to two places.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import type { Config } from "../../schemas/config.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import { toServiceError } from "../problem.ts";
import type { Processes, ProcessNotice } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { type Channel, checkHandshake, REFUSAL_HEADERS, readTarget, type Target } from "./handshake.ts";
import { watchKey } from "./key-watch.ts";
import { writeLetter } from "./letters.ts";
import { closeSocket, SocketClient } from "./socket-client.ts";
import { SocketSlots } from "./socket-slots.ts";
import { TelemetryIntake } from "./telemetry-in.ts";
import { type UpgradeCall, type UpgradeHook, writeProblem } from "./upgrade.ts";

export interface SocketNeeds {
  readonly config: Config["streams"];
  readonly processes: Pick<Processes, "follow" | "openTelemetry" | "expectOffer">;
  readonly authenticate: Authenticate;
}

/** What a graph must offer. `drone_data` and `telemetry` exist with every process, as the interface has it. */
const OFFERS: Partial<Record<Channel, string>> = { detection_data: "detections" };

export class Sockets {
  readonly #needs: SocketNeeds;
  readonly #server: WebSocketServer;
  readonly #slots = new SocketSlots();
  readonly #buckets = new TokenBuckets();
  #isClosing = false;

  constructor(needs: SocketNeeds) {
    this.#needs = needs;
    // Apart from its use: the types of `ws` do not know `closeTimeout` yet.
    const options = {
      noServer: true,
      // Clients are on the same machine or network as a rule; deflating costs each 300 kB and every message its time.
      perMessageDeflate: false,
      maxPayload: needs.config.telemetry_bytes,
      closeTimeout: needs.config.close_seconds * 1000,
      // Answered by us: pings that are sent faster than pongs are read would pile up here.
      autoPong: false,
    };
    this.#server = new WebSocketServer(options);
    // With a listener `ws` leaves the answer to us.
    this.#server.on("wsClientError", () => {});
  }

  /** For the HTTP server. False: no path of ours. */
  readonly upgrade: UpgradeHook = (request, connection, head, call) => {
    const target = readTarget(request);
    if (target === null) return false;
    this.#open(target, request, connection, head, call).catch((thrown: unknown) => {
      const error = toServiceError(thrown);
      const { status, code } = error;
      if (status >= 500 && code !== "shutting_down") call.log.error({ err: error.cause ?? error }, code);
      call.log.info({ path: nameOf(target), status, code, address: call.address }, "websocket refused");
      writeProblem(connection, error, call.requestId, REFUSAL_HEADERS[status]);
    });
    return true;
  };

  /** Every client is told, and gone when this resolves. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const open = [...this.#server.clients].filter((socket) => socket.readyState !== WebSocket.CLOSED);
    await Promise.all(
      open.map((socket) => {
        const closed = new Promise((resolve) => socket.once("close", resolve));
        closeSocket(socket, 1001, "The service is being shut down.");
        return closed;
      }),
    );
  }

  async #open(
    target: Target,
    request: IncomingMessage,
    connection: Duplex,
    head: Buffer,
    { address, log }: UpgradeCall,
  ): Promise<void> {
    this.#expectOpen();
    checkHandshake(request);
    const { processes, authenticate } = this.#needs;
    const user = await authenticate(target.apiKey, address);
    this.#expectPace(user);
    const offer = OFFERS[target.channel];
    if (offer !== undefined) await processes.expectOffer(user, target.processUuid, offer);
    const name = nameOf(target);
    const client = await this.#createClient(user, target);
    const unfollow = await processes.follow(user, target.processUuid, listenFor(target.channel, client));
    try {
      // From here on nothing waits: of those that come at once exactly one passes.
      this.#expectOpen();
      this.#slots.expectFree(name);
      const socket = this.#accept(request, connection, head);
      this.#slots.take(name, socket);
      const { apiKey } = target;
      const unwatch = watchKey(authenticate, { apiKey, address }, this.#needs.config.ping_seconds, () =>
        closeSocket(socket, 1008, "The API key is not valid any more."),
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

  #expectPace({ uuid, limits: { requestsPerMinute } }: User): void {
    const wait = this.#buckets.take(uuid, requestsPerMinute);
    if (wait === 0) return;
    const detail = `This key may open ${requestsPerMinute} sockets a minute.`;
    throw new ServiceError("rate_limited", { detail, retryAfterSeconds: wait });
  }

  #expectOpen(): void {
    if (!this.#isClosing) return;
    throw new ServiceError("shutting_down", { detail: "The service is being shut down. Try again later." });
  }

  #accept(request: IncomingMessage, connection: Duplex, head: Buffer): WebSocket {
    let accepted: WebSocket | null = null;
    this.#server.handleUpgrade(request, connection, head, (socket) => {
      accepted = socket;
    });
    // It is called back at once, or the client has gone or asked for what cannot be agreed on.
    if (accepted === null) throw new ServiceError("malformed_request", { detail: "The websocket handshake failed." });
    return accepted;
  }

  async #createClient(user: User, { channel, processUuid }: Target): Promise<SocketClient> {
    if (channel !== "telemetry") {
      // Some clients send words to keep the connection alive: nobody listens, and nobody minds.
      return new SocketClient(this.#needs.config, () => {});
    }
    const { config, processes } = this.#needs;
    const receive = await processes.openTelemetry(user, processUuid);
    const intake = new TelemetryIntake({
      ...{ config, receive },
      answer: (refusal) => client.send(writeLetter(refusal)),
    });
    const client: SocketClient = new SocketClient(config, (received) => intake.take(received));
    return client;
  }
}

const nameOf = ({ processUuid, channel }: Target): string => `/process/${processUuid}/${channel}`;

function listenFor(channel: Channel, client: SocketClient): (notice: ProcessNotice) => void {
  let reason = "The process has ended.";
  return (notice) => {
    if (notice.type === "message" && notice.channel === channel) client.send(writeLetter(notice.message));
    else if (notice.type === "state" && notice.state === "finished") reason = "The process has finished.";
    else if (notice.type === "state" && notice.error !== null) reason = `The process has failed: ${notice.error.code}.`;
    else if (notice.type === "ended") client.end(reason);
  };
}
