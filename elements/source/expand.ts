/** GStreamer nodes of each kind of source, and of the ingest pipeline of a live one. */
import type { Registry } from "../../schemas/registry.ts";
import { readSrtAddress, readUdpAddress } from "../../schemas/srt-address.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type ExpandedNode, ExpandFault, type Expansion, type SourceBinding } from "../element.ts";
import type { FileSource, LiveSource, SourceDescription, TestSource } from "./uri.ts";

type Pace = SourceBinding["pace"];

/** Caps of video streams: the other streams of a file or camera stay unlinked. */
const VIDEO_CAPS = [
  "video/x-raw",
  "video/x-h264",
  "video/x-h265",
  "video/x-av1",
  "video/x-vp8",
  "video/x-vp9",
  "video/mpeg",
  "video/x-h263",
  "video/x-msmpeg",
  "video/x-divx",
  "video/x-xvid",
  "video/x-wmv",
  "video/x-theora",
  "video/x-prores",
  "video/x-dnxhd",
  "video/x-dv",
  "image/jpeg",
  "image/png",
].join(";");

export function expandSource(
  source: SourceDescription,
  { pace, demuxer }: Pick<SourceBinding, "pace" | "demuxer">,
  registry: Registry,
): Expansion {
  switch (source.kind) {
    case "file":
      return expandFile(source, pace, demuxer);
    case "test":
      return expandTest(source, pace, registry);
    case "live":
      if (pace === "fast")
        throw new ExpandFault("pace", `${source.display} is live and runs in real time: remove pace`);
      return expandLive();
  }
}

function expandFile({ path }: FileSource, pace: Pace, demuxer: string | undefined): Expansion {
  return {
    nodes: [
      { suffix: "file", factory: "filesrc", properties: { location: path } },
      ...expandDemuxer(demuxer),
      { suffix: "parse", factory: "parsebin", properties: {}, onward: VIDEO_CAPS },
      ...expandPace(pace),
    ],
  };
}

const expandDemuxer = (demuxer: string | undefined): readonly ExpandedNode[] =>
  demuxer === undefined ? [] : [{ suffix: "demux", factory: demuxer, properties: {}, onward: VIDEO_CAPS }];

function expandTest(picture: TestSource, pace: Pace, registry: Registry): Expansion {
  checkPattern(picture.pattern, registry);
  const { pattern, width, height, framerate, frames } = picture;
  return {
    nodes: [
      {
        suffix: "test",
        factory: "videotestsrc",
        properties: { pattern, ...(frames === null ? {} : { "num-buffers": frames }) },
      },
      {
        suffix: "format",
        factory: "capsfilter",
        properties: { caps: `video/x-raw,format=I420,width=${width},height=${height},framerate=${framerate}` },
      },
      ...expandPace(pace),
    ],
  };
}

/**
 * Fed by the ingest pipeline through the relay, which limits the queue: only it can skip whole groups of pictures. With
 * limits of its own the appsrc would drop single access units, and the pictures after them would be decoded damaged.
 */
function expandLive(): Expansion {
  return {
    nodes: [
      {
        suffix: "in",
        factory: "appsrc",
        properties: {
          "is-live": true,
          format: "time",
          "do-timestamp": false,
          block: false,
          "max-time": 0,
          "max-bytes": 0,
          "max-buffers": 0,
        },
      },
    ],
  };
}

/** Pacing happens only here: sinks do not synchronise. */
const expandPace = (pace: Pace): readonly ExpandedNode[] =>
  pace === "realtime" ? [{ suffix: "pace", factory: "clocksync", properties: {} }] : [];

function checkPattern(pattern: string, registry: Registry): void {
  const known = registry.get("videotestsrc")?.properties.pattern?.values?.map(({ nick }) => nick);
  if (known === undefined || known.includes(pattern)) return;
  throw new ExpandFault(
    "uri",
    `there is no test pattern "${pattern}"; expected one of ${known.join(", ")}${didYouMean(pattern, known)}`,
  );
}

export interface IngestOptions {
  readonly transport: "tcp" | "udp" | "auto";
  readonly latencyMs: number;
  readonly connectMs: number;
  readonly stallMs: number;
}

const PROTOCOLS = { tcp: "tcp", udp: "udp+udp-mcast", auto: "tcp+udp-mcast+udp" } as const;

/**
 * The disposable pipeline of one connection attempt. `parsebin` outputs access units with the parameter sets in the caps,
 * which change with the camera: the first keyframe of a new connection can always be decoded.
 */
export function expandIngest(source: LiveSource, options: IngestOptions): Expansion {
  return {
    nodes: [
      ...PULLS[source.protocol](source, options),
      { suffix: "parse", factory: "parsebin", properties: {}, onward: VIDEO_CAPS },
      ...expandPace(source.protocol === "file" ? "realtime" : undefined),
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

type Pull = (source: LiveSource, options: IngestOptions) => readonly ExpandedNode[];

const pullRtsp: Pull = ({ url: location }, { transport, latencyMs, connectMs }) => [
  {
    suffix: "pull",
    factory: "rtspsrc",
    properties: {
      location,
      protocols: PROTOCOLS[transport],
      latency: latencyMs,
      "tcp-timeout": connectMs * 1000,
      // Half of the time for UDP, so that `auto` can try TCP in the other half.
      timeout: connectMs * 500,
      // The camera's clock, from its RTCP sender reports.
      "add-reference-timestamp-meta": true,
    },
    onward: "application/x-rtp,media=video",
  },
  // The PTS of `rtspsrc` are wrong where the camera sends B-frames.
  { suffix: "times", factory: "rtptimes", properties: {} },
];

const pullFile: Pull = ({ url: location, demuxer }) => [
  { suffix: "pull", factory: "filesrc", properties: { location } },
  ...expandDemuxer(demuxer),
];

const pullRtmp: Pull = ({ url: location }, { connectMs, stallMs }) => [
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

/** `tsdemux` does not know synchronous metadata. */
const EXPOSE_KLV: ExpandedNode = { suffix: "klv", factory: "tsklv", properties: {} };

/** Without reconnects of its own: the state machine of this source reconnects, and reports it. */
const pullSrt: Pull = ({ url }, { latencyMs }) => {
  const address = readSrtAddress(url);
  if (typeof address === "string") throw new ExpandFault("uri", address);
  const { host, port, mode, streamId, passphrase, keyBytes } = address;
  const named = host.includes(":") ? `[${host}]` : host;
  return [
    {
      suffix: "pull",
      factory: "srtsrc",
      properties: {
        uri: `srt://${named}:${port}?mode=${mode}`,
        latency: address.latencyMs ?? latencyMs,
        ...(streamId !== null && { streamid: streamId }),
        ...(passphrase !== null && { passphrase }),
        ...(keyBytes !== null && { pbkeylen: String(keyBytes) }),
        "auto-reconnect": false,
      },
    },
    EXPOSE_KLV,
  ];
};

/** Bytes: a large picture is one burst of datagrams. */
const UDP_BUFFER = 4 * 2 ** 20;

const pullUdp: Pull = ({ url }) => {
  const address = readUdpAddress(url);
  if (typeof address === "string") throw new ExpandFault("uri", address);
  return [
    {
      suffix: "pull",
      factory: "udpsrc",
      properties: {
        address: address.host,
        port: address.port,
        "buffer-size": UDP_BUFFER,
        // Another process must not receive the same datagrams.
        reuse: false,
        caps: "video/mpegts,systemstream=(boolean)true",
      },
    },
    EXPOSE_KLV,
  ];
};

const PULLS = { rtsp: pullRtsp, rtmp: pullRtmp, srt: pullSrt, udp: pullUdp, file: pullFile } as const;
