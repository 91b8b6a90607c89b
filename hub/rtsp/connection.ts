/** RTSP (RFC 2326) over TCP: accepts connections, answers the requests of each in order, and passes its packets on. */
import type { Socket } from "node:net";
import { MessageReader, RtspError, type RtspItem, type RtspRequest, writeResponse } from "../../media/rtsp/message.ts";
import { type ListenOptions, openTcpPort, type TcpPort } from "../connections.ts";
import { guardBy, type RejectionKind, StatusError, StreamRejected } from "../errors.ts";
import { readPath, readRequestUrl } from "../path.ts";
import { type RtspDeps, Session } from "./session.ts";

const SESSION_SECONDS = 60;
const REPORT_MS = 5000;
const TICK_MS = 250;
/** No client presents more invalid keys on one connection by mistake. */
const MAX_INVALID_KEYS = 5;
/** With more unread responses, the client only sends. */
const UNREAD_BYTES = 65_536;
/** Time for the client to read the last response. */
const CLOSE_MS = 2000;

/** RTSP has no "conflict": a busy path is forbidden, and a reached limit is too little bandwidth. */
const STATUS: Readonly<Record<RejectionKind, number>> = {
  ...{ unauthorized: 401, slow_down: 403, forbidden: 403, unknown: 404, unavailable: 503 },
  ...{ busy: 403, not_live: 404, too_many: 453 },
};

/** Rejects if it cannot listen. */
export async function openRtsp(
  options: ListenOptions & Partial<Pick<RtspDeps, "sessionSeconds" | "reportMs">>,
): Promise<TcpPort> {
  const deps = { sessionSeconds: SESSION_SECONDS, reportMs: REPORT_MS, ...options };
  const connections = new Set<Connection>();
  const server = await openTcpPort("rtsp", options, (socket) => {
    const connection = new Connection(deps, socket);
    connections.add(connection);
    socket.once("close", () => connections.delete(connection));
    return connection;
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const connection of connections) connection.tick(nowMs);
  }, TICK_MS);
  return {
    port: server.port,
    close() {
      clearInterval(timer);
      return server.close();
    },
  };
}

class Connection {
  readonly #deps: RtspDeps;
  readonly #socket: Socket;
  readonly #address: string;
  readonly #session: Session;
  readonly #reader = new MessageReader();
  readonly #guard = guardBy((error) => this.#fail(error));
  readonly #openedAtMs = performance.now();
  #activeAtMs = performance.now();
  #isBusy = false;
  /** Not null: nothing more is read, and the socket is destroyed at this time at the latest. */
  #closeAtMs: number | null = null;
  /** Not null: the stream has ended, and the client may close until this time. */
  #leaveAtMs: number | null = null;
  #invalidKeys = 0;

  constructor(deps: RtspDeps, socket: Socket) {
    this.#deps = deps;
    this.#socket = socket;
    this.#address = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
    this.#session = new Session(deps, socket, this.#address, {
      touch: () => {
        this.#activeAtMs = performance.now();
      },
      end: (reason, how) => {
        if (how === "cut") this.#cut(reason);
        else if (how === "finish") this.close(reason);
        else this.#leaveAtMs ??= performance.now() + CLOSE_MS;
      },
      over: () => {
        this.#leaveAtMs = null;
      },
    });
    socket.on("data", (chunk) => {
      if (this.#closeAtMs !== null) return;
      this.#reader.push(chunk);
      this.#readItems();
    });
    socket.on(
      "drain",
      this.#guard(() => this.#session.handleDrain()),
    );
    // The "close" event follows.
    socket.on("error", () => {});
    socket.on(
      "close",
      this.#guard(() => this.#session.close("the connection was closed")),
    );
  }

  readonly tick = this.#guard((nowMs: number): void => {
    const { settings, sessionSeconds } = this.#deps;
    if (this.#closeAtMs !== null) {
      if (nowMs > this.#closeAtMs) this.#socket.destroy();
    } else if (!this.#session.isAuthorized && nowMs - this.#openedAtMs > settings.limits.helloMs) {
      this.#cut("the client was not authorized in time");
    } else if (this.#session.needsKeepAlive && nowMs - this.#activeAtMs > sessionSeconds * 1000) {
      this.close(`the client sent nothing for ${sessionSeconds} s`);
    } else if (this.#leaveAtMs !== null && nowMs > this.#leaveAtMs) {
      this.close("the stream has ended");
    } else this.#session.tick(nowMs);
  });

  /** Closes after the client has read pending responses, or a little later. */
  close(reason: string): void {
    if (this.#closeAtMs !== null) return;
    this.#closeAtMs = performance.now() + CLOSE_MS;
    this.#session.close(reason);
    this.#socket.end();
    // Input is read and ignored: a client that still sends must get the response, and not a reset.
    this.#socket.resume();
  }

  #cut(reason: string): void {
    this.#closeAtMs = performance.now();
    this.#session.close(reason);
    this.#socket.destroy();
  }

  readonly #readItems = this.#guard((): void => {
    while (!this.#isBusy && this.#closeAtMs === null) {
      const item = this.#reader.next();
      if (item === null) return;
      this.#handle(item);
    }
  });

  #handle(item: RtspItem): void {
    this.#activeAtMs = performance.now();
    if (item.kind === "frame") this.#session.handleFrame(item.channel, item.packet);
    if (item.kind !== "request") return;
    this.#isBusy = true;
    this.#socket.pause();
    this.#answer(item)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isBusy = false;
        if (this.#closeAtMs !== null) return;
        this.#socket.resume();
        this.#readItems();
      });
  }

  async #answer(request: RtspRequest): Promise<void> {
    const sequence = request.headers.get("cseq");
    const common = { CSeq: sequence ?? null, Server: "Windhover" };
    try {
      if (!/^\d{1,10}$/.test(sequence ?? "")) throw new RtspError(400, "expected the header CSeq");
      const { headers, body, after } = await this.#session.handle(request);
      this.#write(writeResponse(200, null, { ...common, ...headers }, body));
      after?.();
    } catch (error) {
      const isRejected = error instanceof StreamRejected;
      if (!isRejected && !(error instanceof StatusError)) throw error;
      const status = isRejected ? STATUS[error.kind] : error.status;
      const challenge = status === 401 ? { "WWW-Authenticate": 'Basic realm="Windhover"' } : {};
      this.#write(writeResponse(status, error.message, { ...common, ...challenge }));
      this.#deps.connections.countRejected();
      // The challenge itself is not logged: clients send their key only after it.
      if (isRejected || status !== 401) this.#logRejected(request, error.message);
      if (status === 401 && ++this.#invalidKeys >= MAX_INVALID_KEYS) this.close("too many invalid keys");
    }
  }

  /** Publishers on level info: operators need to know why a camera does not appear. Players retry anyway. */
  #logRejected({ method, url }: RtspRequest, reason: string): void {
    const level = this.#session.isPublishing || method === "ANNOUNCE" ? "info" : "debug";
    const path = readPath(readRequestUrl(url)?.rest ?? "")?.path;
    this.#deps.log(level, `rtsp ${method} rejected: ${reason}`, { address: this.#address, path });
  }

  #write(response: Buffer): void {
    if (this.#closeAtMs !== null || this.#socket.destroyed) return;
    if (!this.#session.isStreaming && this.#socket.writableLength > UNREAD_BYTES)
      this.#cut("the client does not read responses");
    else this.#socket.write(response);
  }

  #fail(error: unknown): void {
    if (this.#closeAtMs !== null) return;
    if (error instanceof RtspError) {
      this.#deps.connections.countRejected();
      this.#write(writeResponse(error.status, error.message, { CSeq: null, Server: "Windhover", Connection: "close" }));
      this.close(error.message);
      return;
    }
    this.#session.fail(error);
  }
}
