/**
 * What the server and the media hub tell each other, as JSON over the channel of `fork`. Both check every message. The hub
 * knows no users and no keys: whom to let in, and what to record, it asks.
 */
import { type Static, Type } from "typebox";

export const HUB_PROTOCOL = 1;

const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
const Milliseconds = Type.Number({ minimum: 0 });
const Count = Type.Integer({ minimum: 0 });

/** Everything it must know before it listens. Limits come from the configuration. */
/** Of a request to the socket for HLS and WebRTC: the address of the client for whom the server asks. */
export const CLIENT_HEADER = "x-windhover-client";

export const HubSettings = Type.Object({
  rtsp: Type.Object({ host: Type.String(), port: Port }),
  rtmp: Type.Object({ host: Type.String(), port: Port }),
  /** The Unix socket that HLS and WHEP are asked for on, by the server alone. */
  httpSocket: Type.String(),
  /** Where recordings go: `<folder>/<recording>/<index>.mp4`. */
  recordingsFolder: Type.String(),
  /** Recordings of which the server may not have heard everything: all of their files are told before `repaired`. */
  untold: Type.Array(Type.String()),
  segmentSeconds: Type.Number({ exclusiveMinimum: 0 }),
  /** Recording stops when less is free. */
  reserveBytes: Count,
  webrtc: Type.Object({
    /** Addresses that are told to browsers besides those of the machine: what it is reached at from outside. */
    addresses: Type.Array(Type.String()),
    portFirst: Port,
    portLast: Port,
  }),
  limits: Type.Object({
    publishers: Count,
    readersPerStream: Count,
    connections: Count,
    connectionsPerAddress: Count,
    /** A connection that has not been let in after this is closed. */
    helloMs: Milliseconds,
    /** A publisher from which nothing of a picture comes for this long is let go. */
    frozenMs: Milliseconds,
    /** So is one from which pictures come, but none that can be decoded: it begins, or a packet was lost, and no key picture follows. */
    keylessMs: Milliseconds,
    /** A reader that takes nothing for this long is let go. */
    stalledMs: Milliseconds,
    /** Bytes that may wait for a reader; more cost it pictures up to the next key frame. */
    readerBytes: Count,
    /** One picture; a publisher that sends more is let go. */
    unitBytes: Count,
    /** Pictures since the last key frame, for readers that join. */
    cacheBytes: Count,
    /** The same for all streams of one key together, and as much again for the segments of their HLS. */
    keyBytes: Count,
    /** A stream that nobody asks HLS of any more is not made into HLS any more after this. */
    hlsIdleMs: Milliseconds,
    /** Segments of one stream's HLS that are kept; more cost the oldest. */
    hlsBytes: Count,
    /** WebRTC: a viewer must be connected. */
    connectMs: Milliseconds,
    /** The server must have said whom to let in. */
    verdictMs: Milliseconds,
  }),
});
export type HubSettings = Static<typeof HubSettings>;

const Refusal = Type.Object({
  /** `unauthorized`: no or a wrong key; `slow_down`: too many wrong ones; `forbidden`: not this path; `unknown`: no such path. */
  kind: Type.Union([
    Type.Literal("unauthorized"),
    Type.Literal("slow_down"),
    Type.Literal("forbidden"),
    Type.Literal("unknown"),
    Type.Literal("unavailable"),
  ]),
  /** Shown to whoever was refused. */
  detail: Type.String(),
});

export const HubVerdict = Type.Object({
  type: Type.Literal("verdict"),
  id: Count,
  refusal: Type.Union([Refusal, Type.Null()]),
  /** Of a publisher: the name of the recording to make of it; null for none. */
  recording: Type.Union([Type.String(), Type.Null()]),
  /**
   * Of a publisher that is a runner of the server's: it takes no place of others, and as long as its connection answers
   * its pictures may stay away, as while it is paused.
   */
  isOwn: Type.Optional(Type.Boolean()),
});
export type HubVerdict = Static<typeof HubVerdict>;

export const HubRequest = Type.Union([
  Type.Object({ type: Type.Literal("start"), settings: HubSettings }),
  HubVerdict,
  /** Whoever publishes or reads this path must go: its source or output is gone, or its key is. */
  Type.Object({ type: Type.Literal("expel"), path: Type.String(), reason: Type.String() }),
  /** Recordings must stop, or may be made again: the disk. */
  Type.Object({ type: Type.Literal("recording"), allowed: Type.Boolean() }),
  /** A stream that is live is to be recorded from now on. One that is not live, or is recorded already: `recorded`, at once. */
  Type.Object({ type: Type.Literal("record"), path: Type.String(), recording: Type.String() }),
  /** Closes everything, tells of every recording's end, exits 0. */
  Type.Object({ type: Type.Literal("stop") }),
]);
export type HubRequest = Static<typeof HubRequest>;

export const AuthorizeRequest = Type.Object({
  type: Type.Literal("authorize"),
  id: Count,
  action: Type.Union([Type.Literal("publish"), Type.Literal("play")]),
  protocol: Type.Union([Type.Literal("rtsp"), Type.Literal("rtmp")]),
  /** `<username>/<stream path>`, without a slash at either end, unescaped and free of tricks. */
  path: Type.String(),
  /** The key or the token: the password, or `api_key` of the query. Null: none was given. */
  secret: Type.Union([Type.String(), Type.Null()]),
  /** Of the other side. */
  address: Type.String(),
});
export type AuthorizeRequest = Static<typeof AuthorizeRequest>;

export const StreamInfo = Type.Object({
  path: Type.String(),
  protocol: Type.Union([Type.Literal("rtsp"), Type.Literal("rtmp")]),
  width: Count,
  height: Count,
  hasAudio: Type.Boolean(),
});
export type StreamInfo = Static<typeof StreamInfo>;

/** One file of a recording, as far as it is safe on the disk. */
export const RecordedSegment = Type.Object({
  recording: Type.String(),
  path: Type.String(),
  index: Count,
  startedAtMs: Milliseconds,
  durationMs: Milliseconds,
  bytes: Count,
});
export type RecordedSegment = Static<typeof RecordedSegment>;

export const HubMessage = Type.Union([
  Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer(), pid: Count }),
  /** It listens; the ports as they are. */
  Type.Object({ type: Type.Literal("ready"), rtspPort: Port, rtmpPort: Port }),
  /** It cannot listen, and exits. */
  Type.Object({ type: Type.Literal("failed"), detail: Type.String() }),
  AuthorizeRequest,
  /** The first key picture is there: it can be played. */
  Type.Object({ type: Type.Literal("published"), stream: StreamInfo }),
  Type.Object({ type: Type.Literal("unpublished"), path: Type.String(), reason: Type.String() }),
  /** About once a second and at the end of each segment. */
  Type.Object({ type: Type.Literal("segment"), segment: RecordedSegment }),
  /** No more of this recording comes. `detail`: why, if not because its stream stopped. */
  Type.Object({
    type: Type.Literal("recorded"),
    recording: Type.String(),
    stoppedAtMs: Milliseconds,
    detail: Type.Union([Type.String(), Type.Null()]),
  }),
  /** What an earlier hub did not finish has been told of by now, as far as there is anything of it. Once, after the start. */
  Type.Object({ type: Type.Literal("repaired") }),
  /** Once a second. Counts are since the hub started, and since the stream did. */
  Type.Object({
    type: Type.Literal("stats"),
    rssBytes: Count,
    connections: Count,
    refused: Count,
    streams: Type.Array(
      Type.Object({
        path: Type.String(),
        pictures: Count,
        bytes: Count,
        readers: Count,
        /** Pictures that slow readers have missed. */
        missed: Count,
      }),
    ),
  }),
  Type.Object({
    type: Type.Literal("log"),
    level: Type.String(),
    message: Type.String(),
    fields: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
]);
export type HubMessage = Static<typeof HubMessage>;
