/** An RTSP server on a free port, as the hub opens it, with one key that may do everything below `owner/`. */
import { Connections } from "../connections.ts";
import { StreamRejected } from "../errors.ts";
import type { Log } from "../log.ts";
import type { AccessClient, AccessRequest } from "../server-channel.ts";
import { type StreamEvents, Streams } from "../streams.ts";
import { openRtsp } from "./session.ts";

export const KEY = "a-key";

export const LIMITS = {
  publishers: 8,
  readersPerStream: 16,
  connections: 100,
  connectionsPerAddress: 100,
  helloMs: 5000,
  // Publishers of tests send when the test tells them to, on a busy machine seconds later.
  frozenMs: 120_000,
  keylessMs: 20_000,
  stalledMs: 5000,
  readerBytes: 2 ** 20,
  unitBytes: 8 * 2 ** 20,
  cacheBytes: 2 ** 24,
  keyBytes: 2 ** 30,
  hlsIdleMs: 1000,
  hlsBytes: 2 ** 24,
  connectMs: 1000,
  verdictMs: 2000,
};

export async function openServer(
  given: Partial<typeof LIMITS> = {},
  events: StreamEvents = {},
  more: {
    readonly sessionSeconds?: number;
    readonly reportMs?: number;
    readonly leaveMs?: number;
    readonly grantSeconds?: number;
  } = {},
) {
  const limits = { ...LIMITS, ...given };
  const faults: unknown[] = [];
  const logged: string[] = [];
  const log: Log = (level, message, fields) => {
    if (level === "error") faults.push([message, fields]);
    if (level === "info" || level === "warn") logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const streams = new Streams(limits, events, log);
  const connections = new Connections(limits);
  const asked: AccessRequest[] = [];
  const access = {
    async authorize(question: AccessRequest) {
      asked.push(question);
      if (question.secret !== KEY) throw new StreamRejected("unauthorized", "the key is wrong");
      if (!question.path.startsWith("owner/")) throw new StreamRejected("forbidden", "this is not your path");
      return { recording: null };
    },
  } satisfies Pick<AccessClient, "authorize">;
  const place = { host: "127.0.0.1", port: 0 };
  const server = await openRtsp({ ...place, ...more, settings: { limits }, streams, access, connections, log });
  return {
    port: server.port,
    streams,
    connections,
    asked,
    faults,
    logged,
    url: (path: string, key: string | null = KEY) =>
      key === null ? `rtsp://127.0.0.1:${server.port}/${path}` : `rtsp://any:${key}@127.0.0.1:${server.port}/${path}`,
    async close() {
      streams.close("the test is over");
      await server.close();
    },
  };
}
