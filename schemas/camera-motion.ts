import { type Static, Type } from "typebox";

/**
 * Metadata key `cameraMotion`: how the image of a static scene has moved since the previous frame. A point moves from
 * (x, y) to (a x - b y + right, b x + a y + down), in units of the frame height, from the top left corner.
 */
export const CameraMotion = Type.Object({
  a: Type.Number(),
  b: Type.Number(),
  right: Type.Number(),
  down: Type.Number(),
});
export type CameraMotion = Static<typeof CameraMotion>;
