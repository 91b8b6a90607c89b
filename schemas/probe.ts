/** What the probe of a video file prints. */
import { type Static, Type } from "typebox";

export const VideoFacts = Type.Object({
  container: Type.Enum(["mp4", "mov", "avi"]),
  codec: Type.String({ description: "As GStreamer names it: `video/x-h264`." }),
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  duration_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});
export type VideoFacts = Static<typeof VideoFacts>;

/** Either is null. `fault` ends the sentence "The file …", and names no path. */
export const ProbeResult = Type.Object({
  video: Type.Union([VideoFacts, Type.Null()]),
  fault: Type.Union([Type.String(), Type.Null()]),
});
export type ProbeResult = Static<typeof ProbeResult>;
