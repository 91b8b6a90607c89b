/** How much cameras see, where telemetry does not say so. */

export interface FieldsOfView {
  readonly hfov: number;
  readonly vfov: number;
}

/** Diagonal field of view of the wide camera in degrees, as its maker states it for the whole sensor, which is 4:3. */
const DIAGONALS: Readonly<Record<string, number>> = {
  "52-0-0": 84, // M30
  "53-0-0": 84, // M30T
  "66-0-0": 84, // M3E
  "67-0-0": 84, // M3T
  "80-0-0": 84, // M3D
  "81-0-0": 82, // M3TD
};

const toRadians = (degrees: number): number => (degrees * Math.PI) / 180;
const toDegrees = (radians: number): number => (radians * 180) / Math.PI;

/** Of the wide camera's video, which is 16:9: as wide as the sensor, cut above and below. Null: we do not know it. */
export function findWideView(payload: string): FieldsOfView | null {
  const diagonal = Object.hasOwn(DIAGONALS, payload) ? DIAGONALS[payload] : undefined;
  if (diagonal === undefined) return null;
  const across = Math.tan(toRadians(diagonal / 2)) * (4 / 5);
  return { hfov: 2 * toDegrees(Math.atan(across)), vfov: 2 * toDegrees(Math.atan((across * 9) / 16)) };
}

/** Of a part of a picture: `right` and `down` are its share of the width and of the height. */
export function narrowView({ hfov, vfov }: FieldsOfView, right: number, down: number): FieldsOfView {
  const narrow = (angle: number, share: number): number =>
    2 * toDegrees(Math.atan(Math.tan(toRadians(angle / 2)) * share));
  return { hfov: narrow(hfov, right), vfov: narrow(vfov, down) };
}
