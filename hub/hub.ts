/**
 * Assembles the media hub: publishers by RTSP, RTMP and SRT, relays of other nodes; readers by RTSP, SRT, HLS, WebRTC and
 * recordings.
 */
import type { Channel } from "../ipc/channel.ts";
import type { HubMessage, HubPorts, HubRequest, HubSettings } from "../schemas/hub.ts";
import { Connections } from "./connections.ts";
import { every } from "./every.ts";
import { Hls } from "./hls/hls.ts";
import { openHttp } from "./http.ts";
import type { Log } from "./log.ts";
import { Recordings } from "./recorder/recordings.ts";
import { Relays } from "./relays.ts";
import { openRtmp } from "./rtmp/session.ts";
import { openRtsp } from "./rtsp/session.ts";
import { AccessClient } from "./server-channel.ts";
import { openSrt } from "./srt/session.ts";
import { Streams } from "./streams.ts";
import { Whep } from "./webrtc/whep.ts";

export interface Hub {
  readonly ports: HubPorts;
  /** Any request but `start` and `stop`. */
  handle(request: HubRequest): void;
  /** Resolves when all clients are disconnected and every recording is written and reported. */
  close(): Promise<void>;
}

const STATS_MS = 1000;

/** Rejects, with a message for the operator, if it cannot listen; then nothing stays open. */
export async function openHub(
  settings: HubSettings,
  server: Pick<Channel<HubMessage, HubRequest>, "send" | "request">,
  log: Log,
): Promise<Hub> {
  const { limits } = settings;
  const send = (message: HubMessage): void => server.send(message);
  const connections = new Connections(limits);
  const access = new AccessClient(server, limits.verdictMs);
  const recordings = new Recordings({ settings, notify: send, log });
  const streams: Streams = new Streams(
    limits,
    {
      published(stream, recording) {
        send({ type: "published", stream });
        if (recording !== null) recordings.start(streams, stream.path, recording);
      },
      unpublished: (path, reason) => send({ type: "unpublished", path, reason }),
      rejected: (path, protocol, reason) => send({ type: "rejected", path, protocol, reason }),
      // Only other nodes need to know.
      ...(settings.relay !== undefined && { abandoned: (path) => send({ type: "abandoned", path }) }),
    },
    log,
  );
  const hls = new Hls({ settings, streams, log });
  const whep = new Whep({ settings, streams, connections, log });
  const relays =
    settings.relay &&
    new Relays({ limits: { ...limits, ...settings.relay }, streams, log, locate: (path) => access.locate(path) });
  const ports: { close(): Promise<void> }[] = [];
  /** First no client can connect, then the connected ones are closed. */
  const close = async (): Promise<void> => {
    await Promise.all(ports.map((port) => port.close()));
    relays?.close();
    streams.close("the media server is shutting down");
    hls.close();
    await Promise.all([whep.closeAll(), recordings.close()]);
  };
  const open = async <P extends { close(): Promise<void> }>(where: string, opening: Promise<P>): Promise<P> => {
    const port = await opening.catch(async (error: unknown) => {
      await close();
      throw new Error(`the media hub cannot listen ${where}: ${explain(error)}`, { cause: error });
    });
    ports.push(port);
    return port;
  };

  const shared = { settings, streams, access, connections, relays, log };
  await open(
    `on ${settings.httpSocket} for HLS and WebRTC`,
    openHttp({ socket: settings.httpSocket, hls, whep, relays, log }),
  );
  const rtsp = await open(`${at(settings.rtsp)} for RTSP`, openRtsp({ ...shared, ...settings.rtsp }));
  const rtmp = await open(`${at(settings.rtmp)} for RTMP`, openRtmp({ ...shared, ...settings.rtmp }));
  const srt = await open(`${at(settings.srt)} for SRT`, openSrt({ ...shared, ...settings.srt }));
  const { tls } = settings;
  const rtspsAt = { host: settings.rtsp.host, port: tls?.rtspPort ?? 0 };
  const rtmpsAt = { host: settings.rtmp.host, port: tls?.rtmpPort ?? 0 };
  const rtsps = tls && (await open(`${at(rtspsAt)} for RTSPS`, openRtsp({ ...shared, ...rtspsAt, tls })));
  const rtmps = tls && (await open(`${at(rtmpsAt)} for RTMPS`, openRtmp({ ...shared, ...rtmpsAt, tls })));
  const endStats = every(STATS_MS, () => {
    const { count, rejected: refused } = connections;
    const rssBytes = process.memoryUsage.rss();
    send({ type: "stats", rssBytes, connections: count, refused, streams: streams.list() });
  });
  void recordings.repair().then(() => send({ type: "repaired" }));
  return {
    ports: {
      ...{ rtspPort: rtsp.port, rtmpPort: rtmp.port, srtPort: srt.port },
      ...{ rtspsPort: rtsps?.port ?? null, rtmpsPort: rtmps?.port ?? null },
    },
    handle(request) {
      if (request.type === "expel") streams.expel(request.path, request.reason);
      else if (request.type === "expel_key") connections.expelKey(request.key, request.reason);
      else if (request.type === "recording") recordings.allow(request.allowed);
      else if (request.type === "record") recordings.startLate(streams, request);
      else if (request.type === "segments") recordings.setSegments(request.recording, request.segmentSeconds);
      else if (request.type === "end_recording") recordings.end(request.recording);
    },
    close() {
      endStats();
      return close();
    },
  };
}

const at = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `on ${host.includes(":") ? `[${host}]` : host}:${port}`;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there",
  EADDRNOTAVAIL: "this machine does not have that address",
  EACCES: "permission denied",
};

function explain(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
