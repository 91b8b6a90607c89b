/** The result of probing a video file. */
import { type Static, Type } from "typebox";

export const VideoFacts = Type.Object({
  container: Type.Enum(["mp4", "mov", "avi", "ts", "mkv", "webm"]),
  codec: Type.String({ description: "GStreamer media type: `video/x-h264`." }),
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  /** Null: the container does not state it. */
  fps: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()]),
  duration_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** PTS of the first frame, where the demuxer does not begin at 0: a transport stream begins with its clock. */
  start_ms: Type.Number({ minimum: 0 }),
});
export type VideoFacts = Static<typeof VideoFacts>;

/** One of the two is null. `fault` completes the sentence "The file …" and contains no path. */
export const ProbeResult = Type.Object({
  video: Type.Union([VideoFacts, Type.Null()]),
  fault: Type.Union([Type.String(), Type.Null()]),
});
export type ProbeResult = Static<typeof ProbeResult>;
