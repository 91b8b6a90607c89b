/** The region of a rule: a polygon in the picture or on the map. Without one it is the whole picture. */
import { type Static, Type } from "typebox";
import type { ConfigurationFault } from "../../schemas/alerts.ts";
import type { Sighting } from "./alert-type.ts";
import { area, contains, findCrossing, flatten, type Point } from "./polygon.ts";
import { type Space, unwrapDeg, xOf, yOf } from "./where.ts";

export const MOST_POINTS = 100;

/** As a list of two and not as a tuple, which is spelt differently in the drafts of JSON Schema. */
export const MapPoint = Type.Unsafe<[x: number, y: number]>(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }));

export const SpaceName = Type.Optional(
  Type.Unsafe<Space>(
    Type.Enum(["image", "geo"], {
      default: "image",
      description:
        "`image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for tracks that are geolocated; north is up.",
    }),
  ),
);

export const Region = Type.Object(
  {
    type: SpaceName,
    polygon: Type.Optional(
      Type.Array(MapPoint, {
        minItems: 3,
        maxItems: MOST_POINTS,
        description:
          "Its corners in order. It must not cross or touch itself; its edge belongs to it. On the map each edge takes the shorter way around the earth. An object is where the middle of the lower edge of its box is. Left out: the whole picture.",
      }),
    ),
  },
  { additionalProperties: false, description: "Where tracks count. Left out: in the whole picture." },
);
/** With its default. */
export type Region = Static<typeof Region> & { readonly type: Space };

export function checkRegion({ type, polygon }: Region): readonly ConfigurationFault[] {
  if (polygon === undefined)
    return type === "image" ? [] : [{ path: "/region/polygon", message: "is missing; a region on the map needs one" }];
  const outside = checkPoints(type, polygon, "/region/polygon");
  if (outside.length > 0) return outside;
  const points = straighten(type, polygon);
  const fault = findFlaw(type, points);
  return fault === null ? [] : [{ path: "/region/polygon", message: fault }];
}

function findFlaw(type: Space, points: readonly Point[]): string | null {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length < 3 || first === undefined || last === undefined)
    return "has fewer than three different points; expected at least three";
  if (area(points) === 0) return "has no area: all of its points lie in one line; expected points around an area";
  if (type === "geo" && Math.abs(last[0] - first[0]) > 180)
    return "goes around a pole; expected one that does not, as each edge takes the shorter way around the earth";
  const crossing = findCrossing(points);
  if (crossing === null) return null;
  const [a, b] = crossing.map((index) => `${index} to ${(index + 1) % points.length}`);
  return `crosses or touches itself: the edge from point ${a} meets that from ${b}; expected corners in their order around it`;
}

/** One fault for every point that is not there where points of that space can be. */
export function checkPoints(
  type: Space,
  points: readonly (readonly [x: number, y: number])[],
  path: string,
): readonly ConfigurationFault[] {
  const [least, most] =
    type === "image"
      ? [
          [0, 0],
          [1, 1],
        ]
      : [
          [-180, -90],
          [180, 90],
        ];
  const wanted =
    type === "image"
      ? "[x, y] in fractions of the frame, both from 0 to 1"
      : "[longitude, latitude], from -180 to 180 and from -90 to 90 degrees";
  return points.flatMap((point, index) => {
    const isThere = point.every((value, axis) => value >= (least[axis] ?? 0) && value <= (most[axis] ?? 0));
    return isThere ? [] : [{ path: `${path}/${index}`, message: `is [${point.join(", ")}]; expected ${wanted}` }];
  });
}

/** Without the first point again at the end, and on the map without a jump at the date line. */
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

/** A region at work. */
export class Area {
  readonly space: Space;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Null for the whole picture. */
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

  /** NaN where it is not known. On the map next to the region, should it lie across the date line. */
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
