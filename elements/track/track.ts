/**
 * Follows what `detect` finds from frame to frame. Works with real time, not with frame counts, so that a camera may
 * have any frame rate, vary it and drop frames. On frames that were not looked at, tracks are where they should be by
 * then and say so.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "track",
  about: "Gives every detection an id that stays with the object.",
  example: `
graph: track-example
about: Every object of a clip with its id, one line a frame.
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
        "An object that has not been seen for so long gets a new id when it comes back. Where frames are looked at so seldom that this would be after one look in vain, it is two and a half times the usual time between looks.",
    }),
    showPredictedMs: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 60_000,
      live: true,
      description:
        "An object that a frame was searched for in vain is still shown, as predicted, for so long, and for less if it was there less than a second before.",
    }),
    cameraMotion: Type.Enum(["picture", "detections", "none"], {
      default: "picture",
      live: true,
      description:
        "How the motion of the camera is found: in the picture, with what the objects have in common where that is unsure; by the objects alone, which costs nothing; or not at all. Motion that the frame brings along is used in any case.",
    }),
  }),
  reads: ["detections", { optional: "cameraMotion" }],
  writes: ["tracks"],
  caps: "video/x-raw,format={I420,NV12}",
  preload: () => import("./handler.ts"),
  async create(properties, { job }) {
    const { TrackHandler } = await import("./handler.ts");
    return new TrackHandler(properties, () => job.nextTrackId());
  },
});
