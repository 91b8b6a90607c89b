/**
 * The TCP ports of RTSP and RTMP, and the limits of all connections, those of SRT included: in total, and per address. Some connections are
 * reserved for the local machine, so that remote clients cannot lock out its runners.
 */
import { createServer, type Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { originOf, plainAddress } from "../schemas/client-origin.ts";
import type { HubSettings } from "../schemas/hub.ts";
import { every } from "./every.ts";
import type { Log } from "./log.ts";
import type { Relays } from "./relays.ts";
import type { AccessClient } from "./server-channel.ts";
import type { Streams } from "./streams.ts";

type ConnectionLimits = Pick<HubSettings["limits"], "connections" | "connectionsPerAddress">;

/** Share of all connections that only the local machine may use. */
const RESERVED_SHARE = 0.1;
const LISTEN_BACKLOG = 511;
const TICK_MS = 250;
/** Time for last responses when a port closes. */
const CLOSE_MS = 250;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byAddress = new Map<string, number>();
  /** How to close the clients that a key has authorized. */
  readonly #byKey = new Map<string, Set<(reason: string) => void>>();
  count = 0;
  /** Connections and requests rejected since the start. */
  rejected = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Returns a function to call when the connection has closed. Null: a limit is reached, close the connection. */
  admit(address: string | undefined): (() => void) | null {
    const origin = originOf(address ?? "");
    const here = this.#byAddress.get(origin) ?? 0;
    const { connections, connectionsPerAddress } = this.#limits;
    const max = isLoopback(address ?? "") ? connections : connections - Math.floor(connections * RESERVED_SHARE);
    if (this.count >= max || here >= connectionsPerAddress) {
      this.rejected++;
      return null;
    }
    this.count++;
    this.#byAddress.set(origin, here + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.count--;
      const left = (this.#byAddress.get(origin) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(origin);
      else this.#byAddress.set(origin, left);
    };
  }

  /** A client was authorized by this key: `close` ends it when the key is revoked. Returns a function to call when it has ended. */
  hold(key: string | undefined, close: (reason: string) => void): () => void {
    if (key === undefined) return () => {};
    const held = this.#byKey.get(key) ?? new Set();
    held.add(close);
    this.#byKey.set(key, held);
    return () => {
      held.delete(close);
      if (held.size === 0 && this.#byKey.get(key) === held) this.#byKey.delete(key);
    };
  }

  /** Closes the clients that this key has authorized. */
  expelKey(key: string, reason: string): void {
    for (const close of [...(this.#byKey.get(key) ?? [])]) close(reason);
  }
}

function isLoopback(address: string): boolean {
  const plain = plainAddress(address);
  return plain === "::1" || plain.startsWith("127.");
}

/** What a session of a client needs. */
export interface SessionDeps {
  readonly settings: Pick<HubSettings, "limits">;
  readonly streams: Streams;
  readonly access: Pick<AccessClient, "authorize">;
  /** Absent: there are no other nodes. */
  readonly relays?: Pick<Relays, "want"> | undefined;
  readonly connections: Connections;
  readonly log: Log;
}

export interface TcpPort {
  readonly port: number;
  close(): Promise<void>;
}

interface TcpSession {
  /** Bytes of the client, to be copied if they are needed after the call: their memory is that of the next ones. */
  receive(bytes: Buffer): void;
  close(reason: string): void;
  /** Called at short intervals, for time limits and reports. */
  tick?(nowMs: number): void;
}

/** Port 0: any. With `tls`, the port is for RTSPS or RTMPS. */
export type ListenOptions = SessionDeps &
  HubSettings["rtsp"] & { readonly tls?: Pick<NonNullable<HubSettings["tls"]>, "cert" | "key"> | undefined };

/**
 * Where every connection is read, one after the other: Node would allocate as much for each read, a fifth of the processor
 * time that the hub takes to pass on a stream.
 */
const READ_BYTES = 65_536;
let readBuffer: Buffer | null = null;

type Receive = (bytes: Buffer) => void;

/**
 * The same connection, whose bytes go to `receive` and not to the event `data`. Node has this (`onread`) for sockets that
 * connect only, so the accepted socket gives up its handle. Without a handle it is returned as it is.
 */
function readInPlace(accepted: Socket & { _handle?: unknown }, receive: Receive): Socket {
  const handle = accepted._handle;
  if (typeof handle !== "object" || handle === null) return readData(accepted.resume(), receive);
  accepted._handle = null;
  readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const onread = {
    buffer: readBuffer,
    callback: (count: number, buffer: Uint8Array): boolean => {
      receive((buffer as Buffer).subarray(0, count));
      return true;
    },
  };
  const socket = new Socket({ handle, onread } as ConstructorParameters<typeof Socket>[0]).resume();
  // The server counts the accepted one.
  return socket.once("close", () => accepted.destroy());
}

const readData = (socket: Socket, receive: Receive): Socket => socket.on("data", receive);

/** Admits connections and starts a session on each. Rejects if it cannot listen. */
export async function openTcpPort(
  protocol: "rtsp" | "rtmp",
  { host, port, tls, settings, connections, log }: ListenOptions,
  startSession: (socket: Socket) => TcpSession,
): Promise<TcpPort> {
  const open = new Map<Socket, TcpSession>();
  /** Those in a TLS handshake as well. */
  const admitted = new Set<Socket>();
  const handshakeTimeout = settings.limits.helloMs;
  const server: Server =
    tls === undefined
      ? createServer({ noDelay: true, pauseOnConnect: true })
      : createTlsServer({ noDelay: true, minVersion: "TLSv1.2", handshakeTimeout, cert: tls.cert, key: tls.key });
  server.on("connection", (socket: Socket) => {
    const release = connections.admit(socket.remoteAddress);
    if (release === null) {
      socket.on("error", () => {}).destroy();
      return;
    }
    admitted.add(socket);
    socket.once("close", () => {
      admitted.delete(socket);
      release();
    });
  });
  // Node leaves a socket open whose handshake has failed or timed out.
  server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  // With TLS, a session begins after the handshake, on another socket.
  const read = tls === undefined ? readInPlace : readData;
  server.on(tls === undefined ? "connection" : "secureConnection", (accepted: Socket) => {
    if (accepted.destroyed) return;
    const socket = read(accepted, (bytes) => session.receive(bytes));
    const session = startSession(socket);
    open.set(socket, session);
    socket.once("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: LISTEN_BACKLOG }, resolve);
  });
  server.on("error", (error) => log("error", `${protocol} port failed`, { error: error.message }));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`the ${protocol} server has no port`);
  const endTicks = every(TICK_MS, () => {
    const nowMs = performance.now();
    for (const session of open.values()) session.tick?.(nowMs);
  });
  return {
    port: address.port,
    async close() {
      endTicks();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, session] of open) {
        session.close("the media server is shutting down");
        socket.destroySoon();
      }
      const late = setTimeout(() => {
        for (const socket of [...open.keys(), ...admitted]) socket.destroy();
      }, CLOSE_MS);
      await closed;
      clearTimeout(late);
    },
  };
}
