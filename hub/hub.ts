/** The media hub put together: who publishes by RTSP and RTMP is read by RTSP, HLS, WebRTC and recordings. */
import type { HubMessage, HubSettings, HubVerdict } from "../schemas/hub.ts";
import { Connections } from "./connections.ts";
import { Doorman } from "./doorman.ts";
import { Hls } from "./hls/hls.ts";
import { openHttp } from "./http.ts";
import type { Log } from "./log.ts";
import { Recordings } from "./recordings.ts";
import { openRtmp } from "./rtmp/rtmp-server.ts";
import { openRtsp } from "./rtsp/rtsp-server.ts";
import { Streams } from "./streams.ts";
import { Whep } from "./webrtc/whep.ts";

export interface HubParts {
  readonly tell: (message: HubMessage) => void;
  readonly log: Log;
}

export interface Hub {
  readonly rtspPort: number;
  readonly rtmpPort: number;
  settle(verdict: HubVerdict): void;
  /** Whoever publishes or reads this path goes. */
  expel(path: string, reason: string): void;
  allowRecording(isAllowed: boolean): void;
  /** A stream that is live, from now on. */
  record(path: string, recording: string): void;
  /** Resolves when everybody has gone and every recording is on the disk and told. */
  close(): Promise<void>;
}

const STATS_MS = 1000;

/** Rejects, with words for whoever runs it, when it cannot listen; then nothing is left open. */
export async function openHub(settings: HubSettings, { tell, log }: HubParts): Promise<Hub> {
  const { limits } = settings;
  const connections = new Connections(limits);
  const doorman = new Doorman(tell, limits);
  const recordings = new Recordings({ settings, tell, log });
  const streams: Streams = new Streams(
    limits,
    {
      published(stream, recording) {
        tell({ type: "published", stream });
        if (recording !== null) recordings.begin(streams, stream.path, recording);
      },
      unpublished: (path, reason) => tell({ type: "unpublished", path, reason }),
    },
    log,
  );
  const hls = new Hls({ settings, streams, log });
  const whep = new Whep({ settings, streams, log });
  /** In the order in which they are closed: nobody comes any more, then nobody stays. */
  const doors: { close(): Promise<void> | void }[] = [];
  const close = async (): Promise<void> => {
    doorman.close();
    await Promise.all(doors.map((door) => door.close()));
    streams.close("the media server is being shut down");
    hls.close();
    await Promise.all([whep.closeAll(), recordings.close()]);
  };
  const open = async <D extends { close(): Promise<void> | void }>(what: string, opening: Promise<D>): Promise<D> => {
    const door = await opening.catch(async (error: unknown) => {
      await close();
      throw new Error(explain(what, error), { cause: error });
    });
    doors.push(door);
    return door;
  };

  const shared = { settings, streams, doorman, connections, log };
  await open(`on ${settings.httpSocket} for HLS and WebRTC`, openHttp({ socket: settings.httpSocket, hls, whep, log }));
  const rtsp = await open(`${at(settings.rtsp)} for RTSP`, openRtsp({ ...shared, ...settings.rtsp }));
  const rtmp = await open(`${at(settings.rtmp)} for RTMP`, openRtmp({ ...shared, ...settings.rtmp }));
  const stats = setInterval(() => {
    const { count, refused } = connections;
    const rssBytes = process.memoryUsage.rss();
    tell({ type: "stats", rssBytes, connections: count, refused, streams: streams.list() });
  }, STATS_MS);
  void recordings.repair().then(() => tell({ type: "repaired" }));
  return {
    rtspPort: rtsp.port,
    rtmpPort: rtmp.port,
    settle: (verdict) => doorman.settle(verdict),
    expel: (path, reason) => streams.expel(path, reason),
    allowRecording: (isAllowed) => recordings.allow(isAllowed),
    record: (path, recording) => recordings.beginLate(streams, path, recording),
    close() {
      clearInterval(stats);
      return close();
    },
  };
}

const at = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `on ${host.includes(":") ? `[${host}]` : host}:${port}`;

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "something else listens there",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "it is not allowed to",
};

function explain(what: string, error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return `the media hub cannot listen ${what}: ${WHY[code] ?? message}`;
}
