/**
 * The SRT port: many callers publish (`m=publish`) and play (`m=request`) on it, distinguished by their stream ids. A caller is
 * authorized during its handshake and rejected with a code of SRT Access Control. If the server takes longer to answer than
 * the handshake can wait, the caller is connected first, nothing of it is read, and it is closed if the answer is no.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { MediaError } from "../../media/access-unit.ts";
import { type SrtCaller, type SrtConnection, type SrtListener, SrtSockets } from "../../media/srt/socket.ts";
import { plainAddress } from "../../schemas/client-origin.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import type { SessionDeps, TcpPort } from "../connections.ts";
import { describeBug, guardBy, INTERNAL_ERROR, type RejectionKind, StreamRejected } from "../errors.ts";
import { every } from "../every.ts";
import { Ingest } from "../ingest.ts";
import { type Link, notLive, type Publication } from "../live-stream.ts";
import type { Log } from "../log.ts";
import { readStreamId, type StreamIdAddress, type StreamIdFault } from "../path.ts";
import { SrtPlayer } from "./from-stream.ts";
import { SrtToStream } from "./to-stream.ts";

/** Codes of SRT Access Control (`SRT_REJX_*`). */
const REJECTION: Readonly<Record<RejectionKind | StreamIdFault | "bug", number>> = {
  syntax: 1400,
  unauthorized: 1401,
  slow_down: 1402,
  too_many: 1402,
  forbidden: 1403,
  unknown: 1404,
  not_live: 1404,
  mode: 1405,
  busy: 1409,
  type: 1415,
  bug: 1500,
  unavailable: 1503,
};
const FAULTS: Readonly<Record<StreamIdFault, string>> = {
  syntax: "expected the stream id #!::r=<username>/<path>,u=<key>,m=publish (or m=request)",
  mode: "expected m=publish or m=request in the stream id",
  type: "expected t=stream in the stream id, or no t",
};
/** The same caller gets these again for a while, without a request to the server. */
const REPEATED: readonly (RejectionKind | StreamIdFault)[] = ["syntax", "mode", "type", "unauthorized", "forbidden"];
const REPEAT_SECONDS = 10;
/** Time for the handshake of an accepted caller, which may still fail: by a wrong passphrase. */
const HANDSHAKE_MS = 5_000;
const TICK_MS = 250;
const DRAIN_MS = 20;
/** Packets of a stream that has ended are at most this far apart: longer than pictures. */
const LAST_GAP_MS = 100;

export type SrtOptions = SessionDeps & HubSettings["srt"];

/** Rejects if it cannot listen. */
export async function openSrt(options: SrtOptions): Promise<TcpPort> {
  const { host, port, latencyMs, passphrase, log } = options;
  const address = isIP(host) === 0 ? (await lookup(host)).address : host;
  const sockets = new SrtSockets();
  const sessions = new Map<number, SrtSession>();
  let listener: SrtListener;
  try {
    listener = sockets.listen(
      { host: address, port, latencyMs, passphrase },
      {
        caller(caller) {
          sessions.get(caller.socket)?.close("its handshake was repeated");
          const session = new SrtSession(caller, listener, options, (closed) => {
            if (sessions.get(caller.socket) === closed) sessions.delete(caller.socket);
          });
          if (!session.isClosed) sessions.set(caller.socket, session);
        },
        connected(connection) {
          const session = sessions.get(connection.socket);
          if (session === undefined) connection.close();
          else session.connect(connection);
        },
      },
    );
  } catch (error) {
    sockets.close();
    throw error;
  }
  const endTicks = every(TICK_MS, () => {
    const nowMs = performance.now();
    for (const session of [...sessions.values()]) session.tick(nowMs);
  });
  log("debug", "srt port open", { port: listener.port, isEncrypted: passphrase !== null });
  return {
    port: listener.port,
    async close() {
      endTicks();
      listener.close();
      for (const session of [...sessions.values()]) session.close("the media server is shutting down");
      sockets.close();
    },
  };
}

function readLink(connection: SrtConnection): Link | null {
  const stats = connection.stats();
  if (stats === null) return null;
  const { rttMs, received, lost, dropped } = stats;
  return { rttMs, received, lost, dropped };
}

class SrtSession {
  readonly #caller: SrtCaller;
  readonly #listener: SrtListener;
  readonly #deps: SrtOptions;
  readonly #address: string;
  readonly #onClosed: (session: SrtSession) => void;
  readonly #release: (() => void) | null;
  #releaseKey: () => void = () => {};
  readonly #guard = guardBy((error) => this.#fail(error));
  #drainTimer: NodeJS.Timeout | undefined;
  #drainUntilMs: number | null = null;
  #admittedAtMs: number | null = null;
  /** Null until it is authorized. */
  #start: ((connection: SrtConnection) => void) | null = null;
  #connection: SrtConnection | null = null;
  #publication: Publication | null = null;
  #toStream: SrtToStream | null = null;
  #player: SrtPlayer | null = null;
  #leave: (() => void) | null = null;
  /** As negotiated. */
  #latencyMs = 0;
  isClosed = false;

  constructor(caller: SrtCaller, listener: SrtListener, deps: SrtOptions, onClosed: (session: SrtSession) => void) {
    this.#caller = caller;
    this.#listener = listener;
    this.#deps = deps;
    this.#address = plainAddress(caller.address);
    this.#onClosed = onClosed;
    this.#release = deps.connections.admit(this.#address);
    const address = readStreamId(caller.streamId);
    if (this.#release === null) {
      this.isClosed = true;
      listener.decide(caller, REJECTION.too_many);
    } else if (typeof address === "string") this.#reject(address, FAULTS[address]);
    else {
      this.#authorize(address).then(
        () => this.#admit(),
        (error: unknown) => {
          if (error instanceof StreamRejected) this.#reject(error.kind, error.message, address.path);
          else {
            this.#log("error", "srt session failed", { error: describeBug(error) });
            this.#reject("bug", INTERNAL_ERROR, address.path);
          }
        },
      );
    }
  }

  /** The handshake is complete, maybe before the authorization. */
  connect(connection: SrtConnection): void {
    if (this.isClosed) {
      connection.close();
      return;
    }
    this.#connection = connection;
    connection.events = { ready: this.#guard(() => this.#handleReady()) };
    this.#begin();
  }

  tick(nowMs: number): void {
    this.#guard(() => {
      if (this.#connection === null) this.#expectHandshake(nowMs);
      this.#player?.tick(nowMs);
      // An event that came before the authorization was not handled.
      this.#handleReady();
    })();
  }

  /** An accepted caller is not connected if its passphrase is wrong. */
  #expectHandshake(nowMs: number): void {
    const isLate = this.#admittedAtMs !== null && nowMs - this.#admittedAtMs > HANDSHAKE_MS;
    if (!isLate && this.#listener.isAlive(this.#caller)) return;
    this.#log("info", "srt handshake failed: is the passphrase right?", { path: this.#publication?.path });
    this.close("the handshake failed");
  }

  close(reason: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.#drainTimer);
    this.#leave?.();
    this.#publication?.close(reason);
    this.#connection?.close();
    this.#release?.();
    this.#releaseKey();
    this.#onClosed(this);
  }

  /** Rejects with `StreamRejected`. Afterwards, `#start` is set. */
  async #authorize({ path, secret, action }: StreamIdAddress): Promise<void> {
    const { access, connections, streams, relays, settings } = this.#deps;
    const request = { action, protocol: "srt", path, secret, address: this.#address } as const;
    const { recording, key, isOwn, isRelay } = await access.authorize(request);
    if (!this.isClosed) this.#releaseKey = connections.hold(key, (reason) => this.close(reason));
    if (action === "publish") {
      this.#publish(path, recording, isOwn);
      return;
    }
    if (isRelay !== true) await relays?.want(path);
    if (streams.tracks(path) === null) throw notLive(path);
    streams.expectRoom(path, undefined);
    this.#start = (connection) => {
      this.#player = new SrtPlayer(connection, settings.limits, (reason) => this.close(reason));
      this.#leave = streams.read(path, this.#player);
    };
  }

  /** Reserves the path. Throws `StreamRejected`. */
  #publish(path: string, recording: string | null, isOwn: boolean | undefined): void {
    const { streams, settings } = this.#deps;
    if (this.isClosed) {
      streams.abandon(path);
      return;
    }
    let publication: Publication;
    try {
      publication = streams.publish(path, "srt", recording, isOwn);
    } catch (error) {
      streams.abandon(path, { protocol: "srt", error });
      throw error;
    }
    this.#publication = publication;
    void publication.ended.then((reason) => {
      if (this.isClosed) return;
      this.#log("info", `srt publisher closed: ${reason}`, { path });
      this.close(reason);
    });
    this.#start = (connection) => {
      publication.readLink = () => readLink(connection);
      this.#toStream = new SrtToStream(new Ingest(publication, settings.limits), settings.limits, (reason) =>
        this.#log("warn", `srt audio dropped: ${reason}`, { path }),
      );
    };
  }

  #admit(): void {
    this.#listener.decide(this.#caller, 0);
    if (this.isClosed) return;
    this.#admittedAtMs = performance.now();
    this.#guard(() => this.#begin())();
  }

  #begin(): void {
    const start = this.#start;
    if (start === null || this.#connection === null) return;
    this.#start = null;
    this.#latencyMs = this.#connection.stats()?.latencyMs ?? this.#deps.latencyMs;
    start(this.#connection);
    this.#handleReady();
  }

  #handleReady(): void {
    const connection = this.#connection;
    const toStream = this.#toStream;
    if (this.isClosed || connection === null || (toStream === null && this.#player === null)) return;
    for (let data = connection.receive(); data !== undefined; data = connection.receive()) {
      if (data === null) {
        if (toStream === null) this.close("the player closed the connection");
        else this.#drain(toStream);
        return;
      }
      // Players have nothing to send: what they send is dropped.
      toStream?.push(data);
      if (this.isClosed) return;
      if (this.#drainUntilMs !== null)
        this.#drainUntilMs = Math.max(this.#drainUntilMs, performance.now() + LAST_GAP_MS);
    }
    this.#player?.flush();
  }

  /**
   * The publisher has closed the connection. What it has sent is due within the latency, and as much later as its handshake
   * took: libsrt counts from the end of the handshake, which may have waited for the authorization.
   */
  #drain(toStream: SrtToStream): void {
    const nowMs = performance.now();
    if (this.#drainUntilMs === null) {
      this.#drainUntilMs = nowMs + this.#latencyMs + LAST_GAP_MS;
      this.#drainTimer = setInterval(
        this.#guard(() => this.#handleReady()),
        DRAIN_MS,
      );
    } else if (nowMs >= this.#drainUntilMs) {
      toStream.end();
      this.close("the publisher closed the connection");
    }
  }

  #reject(kind: keyof typeof REJECTION, reason: string, path?: string): void {
    this.#deps.connections.rejected += 1;
    this.#log("info", `srt caller rejected: ${reason}`, { path });
    const isRepeated = REPEATED.includes(kind as RejectionKind);
    this.#listener.decide(this.#caller, REJECTION[kind], isRepeated ? REPEAT_SECONDS : 0);
    this.close(reason);
  }

  #fail(error: unknown): void {
    const isTheirs = error instanceof MediaError || error instanceof StreamRejected;
    if (!isTheirs) this.#log("error", "srt session failed", { error: describeBug(error) });
    const reason = isTheirs ? error.message : INTERNAL_ERROR;
    if (isTheirs) this.#log("info", `srt caller closed: ${reason}`, { path: this.#publication?.path });
    this.close(reason);
  }

  #log(level: Parameters<Log>[0], message: string, fields: Record<string, unknown>): void {
    this.#deps.log(level, message, { address: this.#address, ...fields });
  }
}
