/**
 * SRT connections, and the typed surface of build/srt.node (native/srt/srt.cc), which only this file loads. The addon wakes
 * this process when a socket may have data, room or an error; everything else happens on the thread of JavaScript.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** A caller of a listener, before its handshake ends. */
export interface SrtCaller {
  readonly socket: number;
  readonly address: string;
  readonly streamId: string;
}

export interface SrtStats {
  /** Round trip. */
  readonly rttMs: number;
  /** Packets, since the connection began. */
  readonly received: number;
  /** Found missing; most are sent again. */
  readonly lost: number;
  /** Lost for good: not there in time. */
  readonly dropped: number;
  readonly sent: number;
  readonly retransmitted: number;
  readonly sendDropped: number;
  /** As negotiated. */
  readonly latencyMs: number;
}

interface SocketOptions {
  /** A numeric address. */
  readonly host: string;
  readonly port: number;
  readonly latencyMs: number;
  /** 10 to 79 characters. Null: not encrypted. */
  readonly passphrase: string | null;
  /** Of the encryption: 16, 24 or 32. Absent: chosen by the peer, else 16. */
  readonly keyBytes?: number;
}

export interface SrtConnectOptions extends SocketOptions {
  readonly streamId: string | null;
  readonly timeoutMs: number;
}

interface Addon {
  readonly Sockets: new (
    onReady: () => void,
  ) => {
    listen(options: SocketOptions): { readonly socket: number; readonly port: number };
    connect(options: SrtConnectOptions): number;
    take(): { readonly ready: readonly number[]; readonly callers: readonly SrtCaller[] };
    decide(caller: SrtCaller, code: number, seconds: number): boolean;
    accept(listener: number): number | null;
    receive(socket: number): Buffer | null | undefined;
    send(socket: number, bytes: Buffer): number;
    state(socket: number): SrtState;
    stats(socket: number): SrtStats | null;
    close(socket: number): void;
    stop(): void;
  };
}

export interface SrtState {
  readonly state: "connecting" | "connected" | "closed";
  /** Of a rejection. */
  readonly code: number;
  readonly reason: string;
}

/** Callbacks of one socket. They must not throw. */
export interface SrtEvents {
  /** There may be data, room for more, or the connection has changed its state or ended. */
  ready(): void;
}

export interface SrtListenerEvents {
  /** Answer with `decide`. */
  caller(caller: SrtCaller): void;
  /** The handshake of a caller is complete, after `caller`. Without `events`, the connection is closed. */
  connected(connection: SrtConnection): void;
}

/** One connection. After `close`, its methods do nothing. */
export class SrtConnection {
  readonly socket: number;
  readonly #sockets: SrtSockets;
  #isClosed = false;
  /** Set by the owner. */
  events: SrtEvents = { ready() {} };

  constructor(sockets: SrtSockets, socket: number) {
    this.#sockets = sockets;
    this.socket = socket;
  }

  /**
   * Data that has arrived. Null: the connection has ended; what arrived before is then returned when it is due, within the
   * latency. Undefined: there is none now.
   */
  receive(): Buffer | null | undefined {
    return this.#isClosed ? null : this.#sockets.addon.receive(this.socket);
  }

  /** Returns the number of bytes accepted, a multiple of the payload of a packet or all; -1: the connection has ended. */
  send(bytes: Buffer): number {
    return this.#isClosed ? -1 : this.#sockets.addon.send(this.socket, bytes);
  }

  get state(): SrtState {
    return this.#isClosed ? { state: "closed", code: 0, reason: "" } : this.#sockets.addon.state(this.socket);
  }

  /** Null if the connection has ended. */
  stats(): SrtStats | null {
    return this.#isClosed ? null : this.#sockets.addon.stats(this.socket);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sockets.remove(this.socket);
    this.#sockets.addon.close(this.socket);
  }
}

export class SrtListener {
  readonly port: number;
  readonly #sockets: SrtSockets;
  readonly #socket: number;
  readonly #events: SrtListenerEvents;

  constructor(sockets: SrtSockets, options: SocketOptions, events: SrtListenerEvents) {
    const { socket, port } = sockets.addon.listen(options);
    this.#sockets = sockets;
    this.#socket = socket;
    this.#events = events;
    this.port = port;
    sockets.listeners.set(socket, this);
  }

  handleCaller(caller: SrtCaller): void {
    this.#events.caller(caller);
  }

  acceptAll(): void {
    for (;;) {
      const socket = this.#sockets.addon.accept(this.#socket);
      if (socket === null) return;
      const connection = this.#sockets.add(socket);
      this.#events.connected(connection);
      // Data may have arrived before it was watched.
      connection.events.ready();
    }
  }

  /**
   * Ends the handshake of a caller. Code 0 accepts, others reject (`REJECTION` in hub/srt/session.ts). False: the handshake
   * has ended without waiting for this answer, and a rejected caller must be closed when it is connected.
   * @param seconds for which the same caller gets the same rejection, without `caller` being called
   */
  decide(caller: SrtCaller, code: number, seconds = 0): boolean {
    return this.#sockets.addon.decide(caller, code, seconds);
  }

  /** False: the handshake of an accepted caller has failed, for example by a wrong passphrase. */
  isAlive({ socket }: SrtCaller): boolean {
    return this.#sockets.addon.state(socket).state !== "closed";
  }

  close(): void {
    if (!this.#sockets.listeners.delete(this.#socket)) return;
    this.#sockets.addon.close(this.#socket);
  }
}

/** All SRT sockets of a process share one thread. */
export class SrtSockets {
  readonly addon: InstanceType<Addon["Sockets"]>;
  readonly listeners = new Map<number, SrtListener>();
  readonly #connections = new Map<number, SrtConnection>();
  #isClosed = false;

  /** Throws if the addon or libsrt is missing. */
  constructor() {
    const file = process.env.WINDHOVER_SRT_ADDON ?? fileURLToPath(new URL("../../build/srt.node", import.meta.url));
    const { Sockets } = createRequire(import.meta.url)(file) as Addon;
    this.addon = new Sockets(() => this.#handle());
  }

  /** Throws if it cannot listen. */
  listen(options: SocketOptions, events: SrtListenerEvents): SrtListener {
    return new SrtListener(this, options, events);
  }

  /** The connection is not complete yet: see its `state`. Throws if it cannot be started. */
  connect(options: SrtConnectOptions): SrtConnection {
    return this.add(this.addon.connect(options));
  }

  add(socket: number): SrtConnection {
    const connection = new SrtConnection(this, socket);
    this.#connections.set(socket, connection);
    return connection;
  }

  remove(socket: number): void {
    this.#connections.delete(socket);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const listener of this.listeners.values()) listener.close();
    for (const connection of this.#connections.values()) connection.close();
    this.addon.stop();
  }

  #handle(): void {
    if (this.#isClosed) return;
    const { ready, callers } = this.addon.take();
    // Callers first: a connection is accepted only after its caller is known.
    for (const caller of callers) for (const listener of this.listeners.values()) listener.handleCaller(caller);
    for (const socket of ready) {
      this.listeners.get(socket)?.acceptAll();
      this.#connections.get(socket)?.events.ready();
    }
  }
}

let shared: SrtSockets | null = null;

/** Of this process: opened on first use, never closed. */
export function sharedSrtSockets(): SrtSockets {
  shared ??= new SrtSockets();
  return shared;
}
