/** Zones and lines, in fractions of the picture. Pure. */

export type Point = readonly [x: number, y: number];

/** `null`: it lies on the map, where it cannot be drawn on a picture. */
export function pointsOf(region: Readonly<Record<string, unknown>>): readonly Point[] | null {
  if (region.type === "geo") return null;
  return (region.polygon ?? region.line ?? []) as readonly Point[];
}

/** As the service takes it. No points: the whole picture. Throws words for people where it cannot be one. */
export function regionOf(points: readonly Point[], isLine: boolean) {
  const fault = judgeRegion(points, isLine);
  if (fault !== null) throw new Error(fault);
  return { type: "image" as const, ...(points.length > 0 && (isLine ? { line: points } : { polygon: points })) };
}

/** What is wrong with it, for people; null: nothing. */
export function judgeRegion(points: readonly Point[], isLine: boolean): string | null {
  if (isLine) {
    const [a, b] = points;
    if (a === undefined || b === undefined)
      return "The line needs two points. Click on the picture where it should begin and end.";
    return a[0] === b[0] && a[1] === b[1] ? "Both points of the line lie in one place. Drag one of them away." : null;
  }
  if (points.length === 0 || points.length >= 3) return null;
  return `The zone has ${points.length === 1 ? "one point" : "two points"} and needs at least three. Add some, or take them back for the whole picture.`;
}

const ARROW = 0.09;
const HEAD = 0.025;

/**
 * Which way is forward: from the left of the line to its right for who goes from its first point to its second. An arrow
 * across the middle of the line, as points of a path in the same units. Null for a line without length.
 */
export function forwardArrow([[x1, y1], [x2, y2]]: readonly [Point, Point]): readonly Point[] | null {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length === 0) return null;
  // In pictures y goes down, so that who goes right has the bottom at the right hand.
  const [aheadX, aheadY] = [(x2 - x1) / length, (y2 - y1) / length];
  const [rightX, rightY] = [-aheadY, aheadX];
  const at = (right: number, ahead: number): Point => [
    (x1 + x2) / 2 + rightX * right + aheadX * ahead,
    (y1 + y2) / 2 + rightY * right + aheadY * ahead,
  ];
  const tip = at(ARROW, 0);
  return [at(-ARROW / 2, 0), tip, at(ARROW - HEAD, HEAD), tip, at(ARROW - HEAD, -HEAD)];
}
