/**
 * Connections of the HTTP server: their limits, and which one is closed when a limit is reached. Each connection handles
 * one request at a time: the next one starts when the client has received the previous answer, and until then nothing is
 * read. This bounds the memory of a connection to one answer and one read.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import type { ClientAddresses } from "./context.ts";
import type { RequestScheduler } from "./request-scheduler.ts";

/** Pipelined requests per connection; with more the connection is closed. */
const MAX_PIPELINED = 32;
/** After the answer, a client has this long to finish sending an unread body; then the connection is closed. */
const LINGER_MS = 2000;
const SWEEP_MS = 1000;
/** A client may send its next request just before its keep-alive time ends: it stays open a little longer. */
const KEEP_ALIVE_GRACE_MS = 2000;
/** Bodies of requests with these methods are never read. */
const BODILESS: readonly (string | undefined)[] = ["GET", "HEAD", "OPTIONS"];

/** An operator sets the others (`http`). */
export const LIMITS = {
  /** Idle timeout of responses that the client does not read. */
  idleMs: 60_000,
  /** Keep-alive timeout of an idle connection. */
  keepAliveMs: 65_000,
  /** Maximum size of all responses that clients have not read yet; beyond it, the connections with the most data are closed. */
  bufferedBytes: 256 * 2 ** 20,
};
export type ConnectionLimits = Readonly<typeof LIMITS>;

type Limits = Pick<Config["http"], "connections" | "connections_per_address"> & ConnectionLimits;

interface Connection {
  readonly origin: string;
  /** Of a trusted proxy, which has many clients. */
  readonly isProxy: boolean;
  /** Address and port of the client: the same for the TCP socket and the TLS socket on top of it. */
  readonly peer: string;
  readonly openedMs: number;
  /** With TLS: the TLS socket once the handshake is done. */
  socket: Socket;
  /** The request being handled. */
  current: IncomingMessage | null;
  readonly waiting: (() => void)[];
  isUpgraded: boolean;
  /** Its keep-alive time is over: it is closed unless a request arrives in the grace period. */
  isExpired: boolean;
}

export class Connections {
  readonly #limits: Limits;
  readonly #addresses: ClientAddresses;
  readonly #log: Logger;
  /** In each set, the connection that has been idle longest comes first. */
  readonly #byOrigin = new Map<string, Set<Connection>>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  readonly #byPeer = new Map<string, Connection>();
  readonly #scheduler: RequestScheduler;
  #closed = 0;

  constructor(limits: Limits, addresses: ClientAddresses, scheduler: RequestScheduler, log: Logger) {
    this.#limits = limits;
    this.#addresses = addresses;
    this.#scheduler = scheduler;
    this.#log = log;
  }

  /** Call before the server listens. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#admit(socket));
    server.on("secureConnection", (socket: Socket) => {
      const connection = this.#byPeer.get(peerOf(socket));
      if (connection === undefined) return void socket.destroy();
      this.#setSocket(connection, socket);
    });
    server.timeout = this.#limits.idleMs;
    server.on("timeout", (socket: Socket) => this.#handleTimeout(socket));
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    server.on("close", () => clearInterval(sweep));
  }

  /** Calls the listener for one request of a connection at a time. */
  serialize(listener: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      const connection = this.#bySocket.get(incoming.socket);
      if (connection === undefined) return void incoming.socket.destroy();
      const start = () => this.#start(connection, incoming, outgoing, listener);
      if (connection.current === null) return start();
      if (connection.waiting.length === MAX_PIPELINED) return this.#close(connection);
      connection.waiting.push(start);
      connection.socket.pause();
    };
  }

  /** False: the connection was closed, since an answer is still being sent on it. */
  upgrade(socket: Socket): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.current !== null) return !socket.destroy();
    connection.isUpgraded = true;
    return true;
  }

  #admit(socket: Socket): void {
    const { remoteAddress } = socket;
    // Already disconnected.
    if (remoteAddress === undefined) return void socket.destroy();
    const origin = originOf(remoteAddress);
    const siblings = this.#byOrigin.get(origin) ?? new Set();
    const { connections, connections_per_address: perAddress } = this.#limits;
    const isProxy = this.#addresses.isTrusted(remoteAddress);
    const isCrowded = siblings.size >= perAddress && !isProxy;
    const isAdmitted = isCrowded
      ? this.#closeOne([siblings])
      : this.#byPeer.size < connections || this.#closeOne(this.#byLoad());
    if (!isAdmitted) {
      this.#closed += 1;
      socket.destroy();
      return;
    }
    const connection: Connection = {
      ...{ origin, isProxy, peer: peerOf(socket), openedMs: performance.now(), socket },
      ...{ current: null, waiting: [], isUpgraded: false, isExpired: false },
    };
    this.#byOrigin.set(origin, siblings.add(connection));
    this.#byPeer.set(connection.peer, connection);
    this.#setSocket(connection, socket);
    socket.once("close", () => this.#remove(connection));
  }

  #setSocket(connection: Connection, socket: Socket): void {
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
    // Node resumes reading after every request, and so do body readers.
    socket.on("resume", () => void (connection.waiting.length > 0 && socket.pause()));
  }

  #remove(connection: Connection): void {
    if (this.#byPeer.get(connection.peer) === connection) this.#byPeer.delete(connection.peer);
    const siblings = this.#byOrigin.get(connection.origin);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.#byOrigin.delete(connection.origin);
    connection.waiting.length = 0;
  }

  /** Frees its place at once, without waiting for the socket to close. */
  #close(connection: Connection): void {
    this.#closed += 1;
    this.#remove(connection);
    connection.socket.destroy();
  }

  #byLoad(): readonly ReadonlySet<Connection>[] {
    return [...this.#byOrigin.values()].sort((a, b) => b.size - a.size);
  }

  /** Closes the connection that has been idle longest, or the slowest. False if all of them are busy. */
  #closeOne(groups: readonly ReadonlySet<Connection>[]): boolean {
    for (const group of groups) {
      const chosen = findIdle(group) ?? findSlowest(group);
      if (chosen === null) continue;
      this.#close(chosen);
      return true;
    }
    return false;
  }

  #start(connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse, listener: RequestListener): void {
    connection.current = incoming;
    connection.isExpired = false;
    if (BODILESS.includes(incoming.method) && !incoming.complete && hasBody(incoming)) outgoing.shouldKeepAlive = false;
    outgoing.once("close", () => this.#end(connection, incoming));
    const client = connection.isProxy ? originOf(this.#addresses.find(incoming).address) : connection.origin;
    this.#scheduler.schedule(client, () => void (outgoing.closed || listener(incoming, outgoing)));
  }

  #end(connection: Connection, incoming: IncomingMessage): void {
    const { socket, waiting } = connection;
    connection.current = null;
    if (socket.destroyed) return;
    if (!incoming.complete) closeUnlessRead(socket, incoming);
    // Moved to the end: it has been idle for the shortest time.
    const siblings = this.#byOrigin.get(connection.origin);
    if (siblings?.delete(connection)) siblings.add(connection);
    const next = waiting.shift();
    if (next === undefined) return;
    if (waiting.length === 0) socket.resume();
    next();
  }

  /**
   * After `idleMs` without data, or after the keep-alive time. Connections with a silent stream or a slow handler
   * stay open.
   */
  #handleTimeout(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.current != null && socket.writableLength === 0) return;
    if (connection === undefined || connection.isExpired || socket.writableLength > 0) {
      socket.destroy();
      return;
    }
    connection.isExpired = true;
    socket.setTimeout(KEEP_ALIVE_GRACE_MS);
  }

  #sweep(): void {
    const stalled = [...this.#byPeer.values()].filter(({ socket }) => socket.writableLength > 0);
    let bytes = stalled.reduce((sum, { socket }) => sum + socket.writableLength, 0);
    if (bytes > this.#limits.bufferedBytes) {
      stalled.sort((a, b) => a.socket.writableLength - b.socket.writableLength);
      for (let largest = stalled.pop(); largest !== undefined; largest = stalled.pop()) {
        if (bytes <= this.#limits.bufferedBytes) break;
        bytes -= largest.socket.writableLength;
        this.#close(largest);
      }
    }
    if (this.#closed === 0) return;
    this.#log.warn({ closed: this.#closed, open: this.#byPeer.size }, "connections closed: limit reached");
    this.#closed = 0;
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

function closeUnlessRead(socket: Socket, incoming: IncomingMessage): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  const keep = () => clearTimeout(timer);
  incoming.once("end", keep);
  socket.once("close", keep);
  incoming.resume();
}

function findIdle(group: ReadonlySet<Connection>): Connection | null {
  for (const connection of group) if (connection.current === null && !connection.isUpgraded) return connection;
  return null;
}

/** Among connections that are still sending their request or receiving their answer. */
function findSlowest(group: ReadonlySet<Connection>): Connection | null {
  const nowMs = performance.now();
  let slowest: Connection | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const connection of group) {
    const { current, socket, openedMs } = connection;
    if (current === null || (current.complete && socket.writableLength === 0)) continue;
    const bytesPerMs = (socket.bytesRead + socket.bytesWritten - socket.writableLength) / (nowMs - openedMs + 1);
    if (bytesPerMs < least) [slowest, least] = [connection, bytesPerMs];
  }
  return slowest;
}
