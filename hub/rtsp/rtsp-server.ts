/** RTSP for publishers and players (RFC 2326): every path of the hub, over TCP and UDP. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { HubSettings } from "../../schemas/hub.ts";
import type { Connections } from "../connections.ts";
import type { Doorman } from "../doorman.ts";
import type { Log } from "../log.ts";
import type { Streams } from "../streams.ts";
import { Connection } from "./connection.ts";

export interface RtspParts {
  readonly host: string;
  /** 0 for any. */
  readonly port: number;
  readonly settings: Pick<HubSettings, "limits">;
  readonly streams: Streams;
  readonly doorman: Pick<Doorman, "authorize">;
  readonly connections: Connections;
  readonly log: Log;
  /** Clients that only take must let something be heard more often. */
  readonly sessionSeconds?: number;
  /** Publishers by UDP are told how much of theirs has come, every so often. */
  readonly reportMs?: number;
}

/** What its connections know. */
export type RtspContext = Required<Omit<RtspParts, "host" | "port">>;

const SESSION_SECONDS = 60;
const REPORT_MS = 5000;

export interface RtspServer {
  readonly port: number;
  close(): Promise<void>;
}

const TICK_MS = 250;
const LISTEN_BACKLOG = 511;

/** Rejects when it cannot listen. */
export async function openRtsp(parts: RtspParts): Promise<RtspServer> {
  const context = { sessionSeconds: SESSION_SECONDS, reportMs: REPORT_MS, ...parts };
  const open = new Map<Socket, Connection>();
  const server = createServer({ noDelay: true }, (socket) => {
    const address = socket.remoteAddress?.replace(/^::ffff:/, "");
    const release = address === undefined ? null : parts.connections.admit(address);
    if (address === undefined || release === null) {
      socket.destroy();
      return;
    }
    open.set(socket, new Connection(context, socket, address));
    socket.once("close", () => {
      open.delete(socket);
      release();
    });
  });
  server.listen({ host: parts.host, port: parts.port, backlog: LISTEN_BACKLOG });
  await once(server, "listening");
  server.on("error", (error) => parts.log("error", "the RTSP port failed", { error: error.message }));
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const connection of open.values()) connection.tick(nowMs);
  }, TICK_MS);
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      clearInterval(timer);
      const closed = once(server, "close");
      server.close();
      for (const [socket, connection] of open) {
        connection.finish("the media server stops");
        socket.destroySoon();
      }
      const late = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy();
      }, TICK_MS);
      await closed;
      clearTimeout(late);
    },
  };
}
