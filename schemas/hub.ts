/**
 * IPC messages between the server and the media hub, as JSON over the channel of `fork`. Both sides validate every message.
 * The hub has no users and keys: it asks the server whom to authorize and what to record.
 */
import { type Static, Type } from "typebox";

export const HUB_PROTOCOL = 6;

/** By which streams are published. */
export const PROTOCOLS = ["rtsp", "rtmp", "srt", "webrtc"] as const;

const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
const Milliseconds = Type.Number({ minimum: 0 });
const Count = Type.Integer({ minimum: 0 });

/** Header of requests to the socket for HLS and WebRTC: the address of the client that the server acts for. */
export const CLIENT_HEADER = "x-windhover-client";
/** The same for a publisher: the name of its recording. Absent: it is not recorded. */
export const RECORDING_HEADER = "x-windhover-recording";
/** The key that authorized the client. Absent: it has a signed URL. */
export const KEY_HEADER = "x-windhover-key";

export const HubSettings = Type.Object({
  rtsp: Type.Object({ host: Type.String(), port: Port }),
  rtmp: Type.Object({ host: Type.String(), port: Port }),
  srt: Type.Object({
    host: Type.String(),
    port: Port,
    /** The larger of this and that of the peer is used. */
    latencyMs: Count,
    /** Of all callers. Null: not encrypted. */
    passphrase: Type.Union([Type.String(), Type.Null()]),
  }),
  /** RTSPS and RTMPS, on the hosts of RTSP and RTMP. Without it, they are closed. */
  tls: Type.Optional(Type.Object({ cert: Type.String(), key: Type.String(), rtspPort: Port, rtmpPort: Port })),
  /** The Unix socket for HLS, WHEP and WHIP requests of the server. */
  httpSocket: Type.String(),
  /** Folder of recordings: `<folder>/<recording>/<index>.mp4`. */
  recordingsFolder: Type.String(),
  /** Recordings that the server may not know completely: all their files are reported before `repaired`. */
  untold: Type.Array(Type.String()),
  segmentSeconds: Type.Number({ exclusiveMinimum: 0 }),
  /** Recording stops below this free space. */
  reserveBytes: Count,
  webrtc: Type.Object({
    /** Public addresses offered to browsers in addition to those of the machine. */
    addresses: Type.Array(Type.String()),
    portFirst: Port,
    portLast: Port,
  }),
  /** The server is one of several nodes: streams that another one has are relayed to readers here. Without it, none are. */
  relay: Type.Optional(
    Type.Object({
      /** A relay without readers ends after this time. */
      idleMs: Milliseconds,
      /** Time limit for the first keyframe of a relayed stream. */
      waitMs: Milliseconds,
    }),
  ),
  limits: Type.Object({
    publishers: Count,
    readersPerStream: Count,
    connections: Count,
    connectionsPerAddress: Count,
    /** A connection that is not authorized by then is closed. */
    helloMs: Milliseconds,
    /** A publisher that sends no video data for this long is disconnected. */
    frozenMs: Milliseconds,
    /** So is a publisher without a keyframe at its start or after a lost packet, whose video cannot be decoded. */
    keylessMs: Milliseconds,
    /** A reader that reads nothing for this long is disconnected. */
    stalledMs: Milliseconds,
    /** Maximum queue of a reader; beyond it, pictures up to the next keyframe are dropped. */
    readerBytes: Count,
    /** Maximum size of a picture; a publisher that sends a larger one is disconnected. */
    unitBytes: Count,
    /** Cache of the pictures since the last keyframe, for readers that join. */
    cacheBytes: Count,
    /** The same for all streams of one key, and the same amount for their HLS segments. */
    keyBytes: Count,
    /** HLS of a stream stops after this time without requests. */
    hlsIdleMs: Milliseconds,
    /** Maximum size of a stream's HLS segments; the oldest are removed. */
    hlsBytes: Count,
    /** WebRTC: time limit for connecting. */
    connectMs: Milliseconds,
    /** Time limit for the server's response to `authorize`. */
    verdictMs: Milliseconds,
  }),
});
export type HubSettings = Static<typeof HubSettings>;

export const HubRequest = Type.Union([
  /** Answered with `HubPorts` when the hub listens. It exits when it cannot. */
  Type.Object({ type: Type.Literal("start"), id: Count, settings: HubSettings }),
  /** Disconnects the publisher and readers of this path: its source, output or key was removed. */
  Type.Object({ type: Type.Literal("expel"), path: Type.String(), reason: Type.String() }),
  /** Disconnects the clients that this key has authorized: it was revoked, or has expired. */
  Type.Object({ type: Type.Literal("expel_key"), key: Type.String(), reason: Type.String() }),
  /** Stops or allows recording, depending on the free disk space. */
  Type.Object({ type: Type.Literal("recording"), allowed: Type.Boolean() }),
  /** Starts recording a live stream. Answered with `recorded` at once if it is not live or is recorded already. */
  Type.Object({
    type: Type.Literal("record"),
    path: Type.String(),
    recording: Type.String(),
    /** Of its files. Default: as in the settings. */
    segmentSeconds: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  }),
  /** Changes the length of the files of a recording in progress; null: as in the settings. */
  Type.Object({
    type: Type.Literal("segments"),
    recording: Type.String(),
    segmentSeconds: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()]),
  }),
  /** Ends a recording in progress. */
  Type.Object({ type: Type.Literal("end_recording"), recording: Type.String() }),
  /** Closes everything, reports the end of every recording, exits with 0. */
  Type.Object({ type: Type.Literal("stop") }),
]);
export type HubRequest = Static<typeof HubRequest>;

/** The reply to `start`. */
export interface HubPorts {
  readonly rtspPort: number;
  readonly rtmpPort: number;
  readonly srtPort: number;
  /** Null without TLS. */
  readonly rtspsPort: number | null;
  readonly rtmpsPort: number | null;
}

/** Answered with an `Authorization`. */
export const AuthorizeRequest = Type.Object({
  type: Type.Literal("authorize"),
  id: Count,
  action: Type.Enum(["publish", "play"]),
  protocol: Type.Enum([...PROTOCOLS]),
  /** `<username>/<stream path>`, without a slash at either end, unescaped and normalised. */
  path: Type.String(),
  /** The key or token: the password, or `api_key` of the query. Null: none was sent. */
  secret: Type.Union([Type.String(), Type.Null()]),
  /** Address of the client. */
  address: Type.String(),
});
export type AuthorizeRequest = Static<typeof AuthorizeRequest>;

/** The reply to `authorize`. */
export interface Authorization {
  readonly refusal: {
    /**
     * `unauthorized`: missing or wrong key; `slow_down`: too many wrong keys; `forbidden`: not this path; `unknown`: no such
     * path; `busy`: published on another node.
     */
    readonly kind: "unauthorized" | "slow_down" | "forbidden" | "unknown" | "unavailable" | "busy";
    /** Shown to the client. */
    readonly detail: string;
  } | null;
  /** For a publisher: the name of its recording; null for none. */
  readonly recording: string | null;
  /** The key that authorized the client; absent for runners and other nodes. */
  readonly key?: string;
  /**
   * For a publisher that is a runner of this server: it does not count against the limits, and it may pause its video as
   * long as its connection responds.
   */
  readonly isOwn?: boolean;
  /** For a player that is the hub of another node: only a stream that is published here is played. */
  readonly isRelay?: boolean;
}

/** Where another node publishes this stream. Answered with a URL for RTSP, which contains a token, or null. */
export const LocateRequest = Type.Object({ type: Type.Literal("locate"), id: Count, path: Type.String() });
export type LocateRequest = Static<typeof LocateRequest>;

export const StreamInfo = Type.Object({
  path: Type.String(),
  protocol: Type.Enum([...PROTOCOLS]),
  codec: Type.Enum(["h264", "h265"]),
  width: Count,
  height: Count,
  hasAudio: Type.Boolean(),
});
export type StreamInfo = Static<typeof StreamInfo>;

/** One file of a recording, as far as it is synced to disk. */
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
  AuthorizeRequest,
  LocateRequest,
  /** The first keyframe has arrived: the stream can be played. */
  Type.Object({ type: Type.Literal("published"), stream: StreamInfo }),
  Type.Object({ type: Type.Literal("unpublished"), path: Type.String(), reason: Type.String() }),
  /** An authorized publisher has ended without a keyframe, or has not begun. */
  Type.Object({ type: Type.Literal("abandoned"), path: Type.String() }),
  /** An authorized publisher was rejected, or has ended without a keyframe. Not of runners. */
  Type.Object({
    type: Type.Literal("rejected"),
    path: Type.String(),
    protocol: Type.Enum([...PROTOCOLS]),
    reason: Type.String(),
  }),
  /** About once per second and at the end of each segment. */
  Type.Object({ type: Type.Literal("segment"), segment: RecordedSegment }),
  /** The recording has ended. `detail`: the reason, if not the end of its stream. */
  Type.Object({
    type: Type.Literal("recorded"),
    recording: Type.String(),
    stoppedAtMs: Milliseconds,
    detail: Type.Union([Type.String(), Type.Null()]),
  }),
  /** All unfinished recordings of an earlier hub have been reported. Once, after the start. */
  Type.Object({ type: Type.Literal("repaired") }),
  /** Once per second. Counters start with the hub or with the stream. */
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
        /** Pictures dropped for slow readers. */
        missed: Count,
        /** How irregularly pictures arrive. */
        jitterMs: Type.Number({ minimum: 0 }),
        /** Relayed from another node. */
        isRelay: Type.Optional(Type.Boolean()),
        /** Of the connection to the publisher, as far as its protocol measures it. Packets are those since it connected. */
        link: Type.Optional(
          Type.Object({
            /** Round trip. Null: not measured. */
            rttMs: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
            received: Count,
            /** Found missing; SRT gets most of them again. */
            lost: Count,
            /** Lost for good. */
            dropped: Count,
          }),
        ),
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
