import type { ExpandedNode, Expansion } from "../element.ts";
import { VIDEO_CAPS } from "./expand.ts";
import type { LiveSource } from "./uri.ts";

export interface IngestOptions {
  readonly transport: "tcp" | "udp" | "auto";
  readonly latencyMs: number;
  readonly connectMs: number;
  readonly stallMs: number;
}

const PROTOCOLS = { tcp: "tcp", udp: "udp+udp-mcast", auto: "tcp+udp-mcast+udp" } as const;

/**
 * One attempt at a camera, thrown away after it. `parsebin` hands on whole access units with their parameter sets in
 * the caps, which change with the camera: the first key frame of a new connection can always be decoded.
 */
export function expandIngest(source: LiveSource, options: IngestOptions): Expansion {
  return {
    nodes: [
      ...(source.protocol === "rtsp" ? pullRtsp(source.url, options) : pullRtmp(source.url, options)),
      { suffix: "parse", factory: "parsebin", properties: {}, onward: VIDEO_CAPS },
      {
        suffix: "out",
        factory: "appsink",
        properties: {
          sync: false,
          async: false,
          drop: true,
          "max-buffers": 60,
          "wait-on-eos": false,
          "enable-last-sample": false,
        },
      },
    ],
  };
}

const pullRtsp = (location: string, { transport, latencyMs, connectMs }: IngestOptions): readonly ExpandedNode[] => [
  {
    suffix: "pull",
    factory: "rtspsrc",
    properties: {
      location,
      protocols: PROTOCOLS[transport],
      latency: latencyMs,
      "tcp-timeout": connectMs * 1000,
      // Half of the time for UDP, so that `auto` has the other half to try TCP.
      timeout: connectMs * 500,
      // The camera's own clock, from its RTCP sender reports.
      "add-reference-timestamp-meta": true,
    },
    onward: "application/x-rtp,media=video",
  },
  // The PTS of `rtspsrc` are wrong where the camera sends B-frames.
  { suffix: "times", factory: "rtptimes", properties: {} },
];

const pullRtmp = (location: string, { connectMs, stallMs }: IngestOptions): readonly ExpandedNode[] => [
  {
    suffix: "pull",
    factory: "rtmp2src",
    properties: {
      location,
      timeout: Math.ceil(connectMs / 1000),
      "idle-timeout": Math.ceil(stallMs / 1000),
    },
  },
];
