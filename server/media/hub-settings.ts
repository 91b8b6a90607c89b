/** What the configuration means to the media hub. */
import type { Config } from "../../schemas/config.ts";
import type { HubSettings } from "../../schemas/hub.ts";

export interface HubPlaces {
  readonly httpSocket: string;
  readonly recordingsFolder: string;
}

export interface HubStart extends HubPlaces {
  /** Names of recordings: see `HubSettings`. */
  readonly untold: readonly string[];
}

/**
 * The hub's own look at the disk is the last resort, for when we are late to make room: it stops a little below the
 * amount at which we begin.
 */
const LAST_RESORT = 0.9;

const toMs = (seconds: number): number => Math.round(seconds * 1000);

export function hubSettings(config: Config, { httpSocket, recordingsFolder, untold }: HubStart): HubSettings {
  const { http, rtsp, rtmp, webrtc, media, recordings } = config;
  return {
    rtsp: { host: rtsp.host ?? http.host, port: rtsp.port },
    rtmp: { host: rtmp.host ?? http.host, port: rtmp.port },
    httpSocket,
    recordingsFolder,
    untold: [...untold],
    segmentSeconds: recordings.segment_seconds,
    reserveBytes: Math.floor(recordings.reserve_bytes * LAST_RESORT),
    webrtc: { addresses: webrtc.addresses, portFirst: webrtc.port_first, portLast: webrtc.port_last },
    limits: {
      publishers: media.publishers,
      readersPerStream: media.readers_per_stream,
      connections: media.connections,
      connectionsPerAddress: media.connections_per_address,
      helloMs: toMs(media.hello_seconds),
      frozenMs: toMs(media.frozen_seconds),
      keylessMs: toMs(media.keyless_seconds),
      stalledMs: toMs(media.stalled_seconds),
      readerBytes: media.reader_bytes,
      unitBytes: media.unit_bytes,
      cacheBytes: media.cache_bytes,
      keyBytes: media.bytes_per_key,
      hlsIdleMs: toMs(media.hls_idle_seconds),
      hlsBytes: media.hls_bytes,
      connectMs: toMs(webrtc.connect_seconds),
      verdictMs: toMs(media.verdict_seconds),
    },
  };
}
