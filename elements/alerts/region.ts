/**
 * The region of a rule: a polygon in the image or on the map; by default the whole image. An object is located at the
 * middle of the lower edge of its box, where people and vehicles stand on the ground. On the map this is the point that
 * `geolocate` has located.
 */
import { type Static, Type } from "typebox";
import type { ConfigurationFault } from "../../schemas/alerts.ts";
import type { Sighting } from "./alert-type.ts";

/** `image`: fractions of the frame, right and down. `geo`: degrees of longitude and latitude. */
export type Space = "image" | "geo";

/** NaN if unknown. */
export function xOf({ track, place }: Sighting, space: Space): number {
  if (space === "image") return track.box[0] + track.box[2] / 2;
  return place?.spot?.longitude ?? Number.NaN;
}

export function yOf({ track, place }: Sighting, space: Space): number {
  // Rounding: top and height of a box that ends at the frame's edge may add up to slightly more than 1.
  if (space === "image") return Math.min(track.box[1] + track.box[3], 1);
  return place?.spot?.latitude ?? Number.NaN;
}

/** Adds a multiple of 360 so that the longitude is nearest to `near`. */
export const unwrapDeg = (longitude: number, near: number): number =>
  longitude - 360 * Math.round((longitude - near) / 360);

/** A list of two numbers and not a tuple, which the drafts of JSON Schema spell differently. */
export const MapPoint = Type.Unsafe<[x: number, y: number]>(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }));

export const SpaceName = Type.Optional(
  Type.Unsafe<Space>(
    Type.Enum(["image", "geo"], {
      default: "image",
      description:
        "`image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for geolocated tracks; north is up.",
    }),
  ),
);

export const Region = Type.Object(
  {
    type: SpaceName,
    polygon: Type.Optional(
      Type.Array(MapPoint, {
        minItems: 3,
        maxItems: 100,
        description:
          "Corners in order. The polygon must not cross or touch itself; its edge is inside. On the map each edge takes the shorter way around the earth. The position of an object is the middle of the lower edge of its box. Default: the whole image.",
      }),
    ),
  },
  { additionalProperties: false, description: "Where tracks count. Default: the whole image." },
);
/** With its default. */
export type Region = Static<typeof Region> & { readonly type: Space };

export function checkRegion({ type, polygon }: Region): readonly ConfigurationFault[] {
  if (polygon === undefined)
    return type === "image" ? [] : [{ path: "/region/polygon", message: "is missing; a region on the map needs one" }];
  const outside = checkPoints(type, polygon, "/region/polygon");
  if (outside.length > 0) return outside;
  const fault = findPolygonFault(type, straighten(type, polygon));
  return fault === null ? [] : [{ path: "/region/polygon", message: fault }];
}

function findPolygonFault(type: Space, points: readonly Point[]): string | null {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length < 3 || first === undefined || last === undefined)
    return "has fewer than three different points; expected at least three";
  if (area(points) === 0) return "has no area: all points lie on one line; expected points around an area";
  if (type === "geo" && Math.abs(last[0] - first[0]) > 180)
    return "goes around a pole; expected a polygon that does not, as each edge takes the shorter way around the earth";
  const crossing = findCrossing(points);
  if (crossing === null) return null;
  const [a, b] = crossing.map((index) => `${index} to ${(index + 1) % points.length}`);
  return `crosses or touches itself: the edge from point ${a} meets that from ${b}; expected corners in their order around it`;
}

/** One fault for every point outside the range of its space. */
export function checkPoints(
  type: Space,
  points: readonly (readonly [x: number, y: number])[],
  path: string,
): readonly ConfigurationFault[] {
  const [minX, maxX, minY, maxY] = type === "image" ? [0, 1, 0, 1] : [-180, 180, -90, 90];
  const expected =
    type === "image"
      ? "[x, y] in fractions of the frame, both from 0 to 1"
      : "[longitude, latitude], from -180 to 180 and from -90 to 90 degrees";
  return points.flatMap(([x, y], index) =>
    x >= minX && x <= maxX && y >= minY && y <= maxY
      ? []
      : [{ path: `${path}/${index}`, message: `is [${x}, ${y}]; expected ${expected}` }],
  );
}

/** Removes a repeated first point from the end, and on the map the jump at the date line. */
function straighten(type: Space, polygon: readonly Point[]): readonly Point[] {
  const [first, last] = [polygon[0], polygon.at(-1)];
  const isClosed = first !== undefined && last !== undefined && first[0] === last[0] && first[1] === last[1];
  const open = isClosed ? polygon.slice(0, -1) : polygon;
  if (type === "image") return open;
  let near = open[0]?.[0] ?? 0;
  return open.map(([longitude, latitude]): Point => {
    near = unwrapDeg(longitude, near);
    return [near, latitude];
  });
}

const WHOLE: readonly Point[] = [
  [0, 0],
  [1, 1],
];

/** A compiled region, with its bounding box. */
export class Area {
  readonly space: Space;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Null: the whole image. */
  readonly #polygon: Float64Array | null;

  constructor({ type, polygon }: Region) {
    this.space = type;
    const points = polygon === undefined ? WHOLE : straighten(type, polygon);
    const xs = points.map(([x]) => x);
    const ys = points.map(([, y]) => y);
    this.#polygon = polygon === undefined ? null : flatten(points);
    this.left = Math.min(...xs);
    this.top = Math.min(...ys);
    this.width = Math.max(...xs) - this.left;
    this.height = Math.max(...ys) - this.top;
  }

  /** NaN if unknown. On the map unwrapped to the region, which may lie across the date line. */
  xOf(sighting: Sighting): number {
    const x = xOf(sighting, this.space);
    return this.space === "image" ? x : unwrapDeg(x, this.left + this.width / 2);
  }

  yOf(sighting: Sighting): number {
    return yOf(sighting, this.space);
  }

  has(x: number, y: number): boolean {
    if (!(x >= this.left && x <= this.left + this.width && y >= this.top && y <= this.top + this.height)) return false;
    return this.#polygon === null || contains(this.#polygon, x, y);
  }
}

// Polygons in the plane: points in order, closed from the last to the first.

export type Point = readonly [x: number, y: number];

const at = (points: readonly Point[], index: number): Point => points[index % points.length] ?? [0, 0];

/** Positive if c is on one side of the line from a to b, negative on the other, 0 on the line. */
const turn = (a: Point, b: Point, c: Point): number => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

/** x, y, x, y …, for fast tests of many points. */
export const flatten = (polygon: readonly Point[]): Float64Array => Float64Array.from(polygon.flat());

/** The edge is inside. */
export function contains(flat: Float64Array, x: number, y: number): boolean {
  let isInside = false;
  let ax = flat[flat.length - 2] ?? 0;
  let ay = flat[flat.length - 1] ?? 0;
  for (let i = 0; i < flat.length; i += 2) {
    const bx = flat[i] ?? 0;
    const by = flat[i + 1] ?? 0;
    const side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
    if (side === 0 && isBetween(x, ax, bx) && isBetween(y, ay, by)) return true;
    // Half-open in y, so that a ray through a corner meets exactly one of its two edges.
    if (ay > y !== by > y && side > 0 === by > ay) isInside = !isInside;
    ax = bx;
    ay = by;
  }
  return isInside;
}

const isBetween = (value: number, a: number, b: number): boolean =>
  (a <= value && value <= b) || (b <= value && value <= a);

export function area(polygon: readonly Point[]): number {
  let sum = 0;
  for (const [i, [x, y]] of polygon.entries()) {
    const [nextX, nextY] = at(polygon, i + 1);
    sum += x * nextY - nextX * y;
  }
  return Math.abs(sum) / 2;
}

/** The first two edges that meet where they must not, each by the index of its first point. */
export function findCrossing(polygon: readonly Point[]): readonly [first: number, second: number] | null {
  const { length } = polygon;
  for (let i = 0; i < length; i++)
    for (let j = i + 1; j < length; j++) {
      const [a, b, c, d] = [at(polygon, i), at(polygon, i + 1), at(polygon, j), at(polygon, j + 1)];
      const meets =
        j === i + 1 ? isBackward(a, b, d) : i === 0 && j === length - 1 ? isBackward(c, d, b) : doMeet(a, b, c, d);
      if (meets) return [i, j];
    }
  return null;
}

/** Adjacent edges share a corner. The second must not run back over the first, or have no length. */
function isBackward(a: Point, corner: Point, b: Point): boolean {
  if (turn(a, corner, b) !== 0) return false;
  return (corner[0] - a[0]) * (b[0] - corner[0]) + (corner[1] - a[1]) * (b[1] - corner[1]) <= 0;
}

/** Whether two segments share a point, ends included. */
function doMeet(a: Point, b: Point, c: Point, d: Point): boolean {
  const [abc, abd, cda, cdb] = [turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)];
  if (abc > 0 !== abd > 0 && abc !== 0 && abd !== 0 && cda > 0 !== cdb > 0 && cda !== 0 && cdb !== 0) return true;
  return (
    (abc === 0 && isOn(a, b, c)) ||
    (abd === 0 && isOn(a, b, d)) ||
    (cda === 0 && isOn(c, d, a)) ||
    (cdb === 0 && isOn(c, d, b))
  );
}

const isOn = (a: Point, b: Point, point: Point): boolean =>
  isBetween(point[0], a[0], b[0]) && isBetween(point[1], a[1], b[1]);
