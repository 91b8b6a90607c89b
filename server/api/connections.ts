/**
 * Connections to the HTTP server: how many there may be, whose, and which one gives way. On each of them one request is
 * answered at a time: the next one is begun when the client has taken the answer before it, and until then nothing more
 * is read. So what one connection can make us keep is one answer and what fits into one read.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { RequestScheduler } from "./request-scheduler.ts";

/** Requests of one connection that may wait for the one before; with more it is closed. No client sends as many. */
const MOST_WAITING = 32;
/** After the answer, a client may finish sending a body that nobody read for so long; then the connection is closed. */
const LINGER_MS = 2000;
const SWEEP_MS = 1000;
/** A client may have sent its next request just before the time it was promised ended: closing then would lose it. */
const KEEP_ALIVE_GRACE_MS = 2000;
/** A request with such a method has no body that anybody would read. */
const BODILESS: readonly (string | undefined)[] = ["GET", "HEAD", "OPTIONS"];

type Limits = Pick<Config["http"], "connections" | "connections_per_address" | "buffered_bytes" | "idle_seconds">;

interface Connection {
  readonly origin: string;
  /** Address and port of the client: the same for a socket and for the one of TLS on top of it. */
  readonly peer: string;
  readonly openedMs: number;
  /** Over TLS: that with the plain text, once the handshake is done. */
  socket: Socket;
  /** The request that is being answered. */
  current: IncomingMessage | null;
  readonly waiting: (() => void)[];
  isUpgraded: boolean;
  /** Its keep-alive time is over: it is closed unless a request that was already on its way arrives. */
  isExpired: boolean;
}

export class Connections {
  readonly #limits: Limits;
  readonly #addresses: ClientAddresses;
  readonly #log: Logger;
  /** In each, the one that has been idle for longest comes first. */
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

  /** To be called before the server listens. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#admit(socket));
    server.on("secureConnection", (socket: Socket) => {
      const connection = this.#byPeer.get(peerOf(socket));
      if (connection === undefined) return void socket.destroy();
      this.#take(connection, socket);
    });
    server.timeout = this.#limits.idle_seconds * 1000;
    server.on("timeout", (socket: Socket) => this.#judgeSilence(socket));
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    server.on("close", () => clearInterval(sweep));
  }

  /** Calls the listener for one request of a connection at a time. */
  inTurn(listener: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      const connection = this.#bySocket.get(incoming.socket);
      if (connection === undefined) return void incoming.socket.destroy();
      const begin = () => this.#begin(connection, incoming, outgoing, listener);
      if (connection.current === null) return begin();
      if (connection.waiting.length === MOST_WAITING) return this.#close(connection);
      connection.waiting.push(begin);
      connection.socket.pause();
    };
  }

  /** False: it has been closed, since an answer is still being sent on it. */
  upgrade(socket: Socket): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.current !== null) return !socket.destroy();
    connection.isUpgraded = true;
    return true;
  }

  #admit(socket: Socket): void {
    const { remoteAddress } = socket;
    // It is gone already.
    if (remoteAddress === undefined) return void socket.destroy();
    const origin = originOf(remoteAddress);
    const siblings = this.#byOrigin.get(origin) ?? new Set();
    const { connections, connections_per_address: perAddress } = this.#limits;
    const isCrowded = siblings.size >= perAddress && !this.#addresses.isTrusted(remoteAddress);
    const hasRoom = isCrowded
      ? this.#makeRoom([siblings])
      : this.#byPeer.size < connections || this.#makeRoom(this.#heaviest());
    if (!hasRoom) {
      this.#closed += 1;
      socket.destroy();
      return;
    }
    const connection: Connection = {
      ...{ origin, peer: peerOf(socket), openedMs: performance.now(), socket },
      ...{ current: null, waiting: [], isUpgraded: false, isExpired: false },
    };
    this.#byOrigin.set(origin, siblings.add(connection));
    this.#byPeer.set(connection.peer, connection);
    this.#take(connection, socket);
    socket.once("close", () => this.#forget(connection));
  }

  #take(connection: Connection, socket: Socket): void {
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
    // Node reads on after every request, and so do those who read bodies.
    socket.on("resume", () => void (connection.waiting.length > 0 && socket.pause()));
  }

  #forget(connection: Connection): void {
    if (this.#byPeer.get(connection.peer) === connection) this.#byPeer.delete(connection.peer);
    const siblings = this.#byOrigin.get(connection.origin);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.#byOrigin.delete(connection.origin);
    connection.waiting.length = 0;
  }

  /** Its place is free at once, and not only when the operating system has let go of it. */
  #close(connection: Connection): void {
    this.#closed += 1;
    this.#forget(connection);
    connection.socket.destroy();
  }

  #heaviest(): readonly ReadonlySet<Connection>[] {
    return [...this.#byOrigin.values()].sort((a, b) => b.size - a.size);
  }

  /** Closes the one that has been idle for longest, or the slowest; false where all of them are at work. */
  #makeRoom(groups: readonly ReadonlySet<Connection>[]): boolean {
    for (const group of groups) {
      const chosen = findIdle(group) ?? findSlowest(group);
      if (chosen === null) continue;
      this.#close(chosen);
      return true;
    }
    return false;
  }

  #begin(connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse, listener: RequestListener): void {
    connection.current = incoming;
    connection.isExpired = false;
    if (BODILESS.includes(incoming.method) && !incoming.complete && hasBody(incoming)) outgoing.shouldKeepAlive = false;
    outgoing.once("close", () => this.#end(connection, incoming));
    // Not that of the connection: behind a proxy there are many clients.
    const client = originOf(this.#addresses.find(incoming).address);
    this.#scheduler.schedule(client, () => void (outgoing.closed || listener(incoming, outgoing)));
  }

  #end(connection: Connection, incoming: IncomingMessage): void {
    const { socket, waiting } = connection;
    connection.current = null;
    if (socket.destroyed) return;
    if (!incoming.complete) closeUnlessRead(socket, incoming);
    // To the end: it has been idle for the shortest time.
    const siblings = this.#byOrigin.get(connection.origin);
    if (siblings?.delete(connection)) siblings.add(connection);
    const next = waiting.shift();
    if (next === undefined) return;
    if (waiting.length === 0) socket.resume();
    next();
  }

  /**
   * Called when nothing was read or written for `idle_seconds`, or for the keep-alive time that clients were promised. A
   * stream that is silent and an answer that takes long stay.
   */
  #judgeSilence(socket: Socket): void {
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
    if (bytes > this.#limits.buffered_bytes) {
      stalled.sort((a, b) => a.socket.writableLength - b.socket.writableLength);
      for (let largest = stalled.pop(); largest !== undefined; largest = stalled.pop()) {
        if (bytes <= this.#limits.buffered_bytes) break;
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

/** Of those that still send their request or do not take their answer. */
function findSlowest(group: ReadonlySet<Connection>): Connection | null {
  const nowMs = performance.now();
  let slowest: Connection | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const connection of group) {
    const { current, socket, openedMs } = connection;
    if (current === null || (current.complete && socket.writableLength === 0)) continue;
    const pace = (socket.bytesRead + socket.bytesWritten - socket.writableLength) / (nowMs - openedMs + 1);
    if (pace < least) [slowest, least] = [connection, pace];
  }
  return slowest;
}
