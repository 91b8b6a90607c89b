/** Zones and lines in fractions of the frame. Pure. */

export type Point = readonly [x: number, y: number];

/** Null: a region in geographic coordinates, which cannot be drawn on a frame. */
export function pointsOf(region: Readonly<Record<string, unknown>>): readonly Point[] | null {
  if (region.type === "geo") return null;
  return (region.polygon ?? region.line ?? []) as readonly Point[];
}

/** As the API expects it. No points: the whole frame. Throws an error whose message is shown to the user. */
export function regionOf(points: readonly Point[], isLine: boolean) {
  const error = findRegionError(points, isLine);
  if (error !== null) throw new Error(error);
  return { type: "image" as const, ...(points.length > 0 && (isLine ? { line: points } : { polygon: points })) };
}

export function findRegionError(points: readonly Point[], isLine: boolean): string | null {
  if (isLine) {
    const [a, b] = points;
    if (a === undefined || b === undefined) return "The line needs two points. Click on the frame to set its ends.";
    return a[0] === b[0] && a[1] === b[1] ? "Both ends of the line are at the same position. Move one of them." : null;
  }
  if (points.length === 0 || points.length >= 3) return null;
  return `The zone has ${points.length === 1 ? "one point" : "two points"} and needs at least three. Add points, or remove them all to use the whole frame.`;
}

const ARROW = 0.09;
const HEAD = 0.025;

/**
 * The forward direction of a line: from its left to its right, seen from its first point towards its second. Returns an
 * arrow across the middle of the line as points of a path in the same units; null for a line without length.
 */
export function forwardArrow([[x1, y1], [x2, y2]]: readonly [Point, Point]): readonly Point[] | null {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length === 0) return null;
  // y points down in images: right of a line towards the right is below it.
  const [aheadX, aheadY] = [(x2 - x1) / length, (y2 - y1) / length];
  const [rightX, rightY] = [-aheadY, aheadX];
  const at = (right: number, ahead: number): Point => [
    (x1 + x2) / 2 + rightX * right + aheadX * ahead,
    (y1 + y2) / 2 + rightY * right + aheadY * ahead,
  ];
  const tip = at(ARROW, 0);
  return [at(-ARROW / 2, 0), tip, at(ARROW - HEAD, HEAD), tip, at(ARROW - HEAD, -HEAD)];
}
