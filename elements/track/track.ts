/**
 * Tracks detected objects from frame to frame. Works with time, not with frame counts, so that a camera may have any
 * frame rate, vary it and drop frames. On frames without inference, tracks are predicted and marked as such.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "track",
  about: "Tracks objects: gives every detection an id that stays with the object.",
  example: `
graph: track-example
about: Track the objects of a clip and print one line per frame.
chains:
  main:
    - source
    - decode
    - detect
    - track: { max-age-ms: 3000 }
    - print: { keys: [tracks] }
`,
  properties: Type.Object({
    maxAgeMs: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 60_000,
      live: true,
      description:
        "An object that was not detected for this time gets a new id when it returns. Where objects stay in view for less than 12 s on average, the time is shorter in proportion: an object that appears is then likelier a new one. If inference is so infrequent that a single miss would exceed this time, 2.5 times the usual interval between inferences is used.",
    }),
    showPredictedMs: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 60_000,
      live: true,
      description:
        "A track that inference misses is shown as predicted for this time, and for less if the track is younger than a second. If inferences are further apart, a single miss does not hide it.",
    }),
    cameraMotion: Type.Enum(["picture", "detections", "none"], {
      default: "picture",
      live: true,
      description:
        "How to estimate the motion of the camera: picture uses the image, and the common motion of the objects where the image is uncertain; detections uses the objects alone, at no cost; none disables it. Motion in the metadata of the frame is always used.",
    }),
  }),
  reads: ["detections", { optional: "cameraMotion" }],
  writes: ["tracks"],
  caps: "video/x-raw,format={I420,NV12}",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { TrackHandler } = await import("./handler.ts");
    return new TrackHandler(properties, () => services.job.nextTrackId(), services);
  },
});
