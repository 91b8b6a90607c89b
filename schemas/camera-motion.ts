import { type Static, Type } from "typebox";

/**
 * Metadata key `cameraMotion`: how the picture of a scene that stands still has moved since the frame before. A point goes
 * from (x, y) to (a x - b y + right, b x + a y + down), all in heights of the frame, from its upper left corner.
 */
export const CameraMotion = Type.Object({
  a: Type.Number(),
  b: Type.Number(),
  right: Type.Number(),
  down: Type.Number(),
});
export type CameraMotion = Static<typeof CameraMotion>;
