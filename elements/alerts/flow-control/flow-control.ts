/** Counts tracks that cross a line. */
import { type Static, Type } from "typebox";
import {
  type AlertEvent,
  type AlertType,
  count,
  type Evaluator,
  exampleOutput,
  FORGOTTEN_MS,
  MAX_LISTED,
  NO_EVENTS,
  type Scene,
  type Sighting,
  seconds,
} from "../alert-type.ts";
import { checkFilter, Filter, TrackFilter } from "../filter.ts";
import { checkPoints, MapPoint, type Point, type Space, SpaceName, unwrapDeg, xOf, yOf } from "../region.ts";

const schemas = {
  trigger: Type.Object(
    {
      count: count(
        "Minimum number of tracks that crossed the line within the window. Each track counts once, however often it crosses.",
        1,
      ),
      direction: Type.Optional(
        Type.Unsafe<"forward" | "backward" | "any">(
          Type.Enum(["forward", "backward", "any"], {
            default: "any",
            description:
              "`forward`: from the left of the line to its right, facing from its first point to its second. For a line from top to bottom that is from the right of the image to the left.",
          }),
        ),
      ),
      cooldown_seconds: seconds(
        "Minimum time between two notifications. With 0, every further crossing notifies while enough tracks have crossed.",
        0,
      ),
    },
    { additionalProperties: false, description: "How many tracks must cross, and in which direction." },
  ),
  region: Type.Object(
    {
      type: SpaceName,
      line: Type.Unsafe<[[x: number, y: number], [x: number, y: number]]>(
        Type.Array(MapPoint, {
          minItems: 2,
          maxItems: 2,
          description:
            "First and second point of the line, ends included. A track crosses it where the middle of the lower edge of its box does. On the map the line takes the shorter way around the earth.",
        }),
      ),
    },
    { additionalProperties: false, description: "The line." },
  ),
  filter: Filter,
  parameters: Type.Object(
    { window_seconds: seconds("Length of the time window in which crossings count.", 10, 0.1) },
    { additionalProperties: false, description: "The time window." },
  ),
};

interface FlowControlConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Required<Static<typeof schemas.region>>;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const flowControl: AlertType = {
  name: "flow-control",
  about:
    "Counts tracks that cross a line. `triggered` when at least `count` tracks crossed it within `window_seconds` in the given direction; the notification lists them, and the total crossings each way since the alert started. A track has crossed once it is past the line by a twentieth of the size of its box, on the map by half a metre: jitter on the line is not counted repeatedly, and touching the line is not a crossing. Between two detections a track is assumed to move straight.",
  schemas,
  example: {
    alias: "Cars entering",
    type: "flow-control",
    trigger: { count: 3, direction: "forward", cooldown_seconds: 30 },
    region: {
      type: "image",
      line: [
        [0.2, 0.6],
        [0.8, 0.6],
      ],
    },
    filter: { class_names: ["car", "truck"] },
    parameters: { window_seconds: 60 },
    output: exampleOutput("alerts/gate"),
  },
  check(configuration) {
    const { region, filter } = configuration as unknown as FlowControlConfiguration;
    const [a, b] = region.line;
    const isPoint = a[1] === b[1] && (region.type === "geo" ? (a[0] - b[0]) % 360 === 0 : a[0] === b[0]);
    const message = "has no length; expected two different points";
    return [
      ...checkPoints(region.type, region.line, "/region/line"),
      ...(isPoint ? [{ path: "/region/line", message }] : []),
      ...checkFilter(filter),
    ];
  },
  create: (configuration) => new FlowControl(configuration as unknown as FlowControlConfiguration),
};

/** Tracks kept in the window: no configuration counts more. */
const MAX_CROSSINGS = 1000;

/** The last known position of a track. Sides are positive to the right of the line, and never 0 once known. */
interface Path {
  seenMs: number;
  x: number;
  y: number;
  /** The last side it was strictly on; 0 while it was only seen on the line. */
  side: number;
  /** The side it counts for: changes only when the track is past the line by more than the jitter. */
  settled: number;
  /** Its last change of `side` went through the line, not past its ends. */
  hasPassed: boolean;
}

interface Crossing {
  readonly isForward: boolean;
  readonly timeMs: number;
  readonly sighting: Sighting;
}

class FlowControl implements Evaluator {
  readonly #line: Line;
  readonly #filter: TrackFilter;
  readonly #trigger: FlowControlConfiguration["trigger"];
  readonly #windowMs: number;
  readonly #paths = new Map<number, Path>();
  /** The last crossing of each track in the configured direction, by id, oldest first. */
  readonly #crossings = new Map<number, Crossing>();
  #sweptMs = Number.NEGATIVE_INFINITY;
  #forward = 0;
  #backward = 0;
  #notifiedMs = Number.NEGATIVE_INFINITY;

  constructor({ trigger, region, filter, parameters }: FlowControlConfiguration) {
    this.#line = new Line(region.type, region.line);
    this.#filter = new TrackFilter(filter);
    this.#trigger = trigger;
    this.#windowMs = parameters.window_seconds * 1000;
  }

  see({ timeMs, sightings, ended }: Scene): readonly AlertEvent[] {
    let isNew = false;
    for (const sighting of sightings) if (this.#filter.isSeen(sighting) && this.#follow(sighting, timeMs)) isNew = true;
    for (const id of ended) this.#paths.delete(id);
    if (timeMs - this.#sweptMs > FORGOTTEN_MS / 2) this.#sweep(timeMs);
    return isNew ? this.#evaluate(timeMs) : NO_EVENTS;
  }

  forget(): void {
    this.#paths.clear();
    this.#crossings.clear();
    this.#notifiedMs = Number.NEGATIVE_INFINITY;
    this.#sweptMs = Number.NEGATIVE_INFINITY;
  }

  #sweep(timeMs: number): void {
    this.#sweptMs = timeMs;
    for (const [id, { seenMs }] of this.#paths) if (timeMs - seenMs > FORGOTTEN_MS) this.#paths.delete(id);
  }

  /** Returns whether the track has just crossed in the configured direction. */
  #follow(sighting: Sighting, timeMs: number): boolean {
    const x = this.#line.xOf(sighting);
    const y = this.#line.yOf(sighting);
    const distance = this.#line.sideOf(x, y);
    if (Number.isNaN(distance)) return false;
    const { id } = sighting.track;
    const side = Math.sign(distance);
    const path = this.#paths.get(id);
    if (path === undefined) {
      this.#paths.set(id, { seenMs: timeMs, x, y, side, settled: side, hasPassed: false });
      return false;
    }
    if (side !== 0 && side !== path.side) {
      path.hasPassed = this.#line.isPassed(path.x, path.y, x, y);
      path.side = side;
    }
    path.seenMs = timeMs;
    path.x = x;
    path.y = y;
    if (path.settled === 0) path.settled = side;
    if (side === 0 || side === path.settled || Math.abs(distance) <= this.#line.jitterOf(sighting)) return false;
    path.settled = side;
    return path.hasPassed && this.#filter.passes(sighting) && this.#count(sighting, side > 0, timeMs);
  }

  #count(sighting: Sighting, isForward: boolean, timeMs: number): boolean {
    if (isForward) this.#forward += 1;
    else this.#backward += 1;
    const { direction } = this.#trigger;
    if (direction !== "any" && (direction === "forward") !== isForward) return false;
    const { id } = sighting.track;
    this.#crossings.delete(id);
    this.#crossings.set(id, { isForward, timeMs, sighting });
    return true;
  }

  #evaluate(timeMs: number): readonly AlertEvent[] {
    for (const [id, crossing] of this.#crossings) {
      if (timeMs - crossing.timeMs < this.#windowMs && this.#crossings.size <= MAX_CROSSINGS) break;
      this.#crossings.delete(id);
    }
    const { count, direction, cooldown_seconds: cooldownSeconds } = this.#trigger;
    if (this.#crossings.size < count || timeMs - this.#notifiedMs < cooldownSeconds * 1000) return NO_EVENTS;
    this.#notifiedMs = timeMs;
    const listed = [...this.#crossings.values()].slice(-MAX_LISTED);
    const crossings = listed.map(({ isForward, timeMs: atMs, sighting }) => ({
      track_id: sighting.track.id,
      direction: isForward ? "forward" : "backward",
      timestamp: new Date(atMs).toISOString(),
    }));
    const data = {
      count: this.#crossings.size,
      direction,
      window_seconds: this.#windowMs / 1000,
      crossings,
      forward_total: this.#forward,
      backward_total: this.#backward,
    };
    return [{ event: "triggered", sightings: listed.map(({ sighting }) => sighting), data }];
  }
}

/** Jitter of boxes, as a share of their size; on the map in metres. */
const JITTER = 0.05;
const JITTER_M = 0.5;
const METRES_PER_DEGREE = 111_320;

/** The line, in a plane where y points down: `sideOf` is positive to its right. */
class Line {
  readonly #space: Space;
  readonly #x: number;
  readonly #y: number;
  readonly #right: number;
  readonly #down: number;
  /** Length of a degree of longitude relative to one of latitude. */
  readonly #narrow: number;

  constructor(space: Space, [a, b]: readonly [Point, Point]) {
    const isGeo = space === "geo";
    this.#space = space;
    this.#narrow = isGeo ? Math.max(Math.cos((((a[1] + b[1]) / 2) * Math.PI) / 180), 1e-6) : 1;
    this.#x = a[0];
    this.#y = isGeo ? -a[1] : a[1];
    this.#right = isGeo ? unwrapDeg(b[0], a[0]) - a[0] : b[0] - a[0];
    this.#down = (isGeo ? -b[1] : b[1]) - this.#y;
  }

  /** Position of a track relative to the first point of the line; NaN if unknown. */
  xOf(sighting: Sighting): number {
    const x = xOf(sighting, this.#space);
    return (this.#space === "geo" ? unwrapDeg(x, this.#x) : x) - this.#x;
  }

  yOf(sighting: Sighting): number {
    const y = yOf(sighting, this.#space);
    return (this.#space === "geo" ? -y : y) - this.#y;
  }

  /** Proportional to the distance from the infinite line; 0 on it. */
  sideOf(x: number, y: number): number {
    return this.#right * y - this.#down * x;
  }

  /** How much `sideOf` may change while the object stands still. */
  jitterOf({ track }: Sighting): number {
    if (this.#space === "image")
      return JITTER * (Math.abs(this.#right) * track.box[3] + Math.abs(this.#down) * track.box[2]);
    // Length of the line times the jitter, both in metres, converted to square degrees at this latitude.
    return (Math.hypot(this.#right * this.#narrow, this.#down) * (JITTER_M / METRES_PER_DEGREE)) / this.#narrow;
  }

  /** Whether the segment between two points on different sides passes between the ends of the line, or through one. */
  isPassed(fromX: number, fromY: number, toX: number, toY: number): boolean {
    const from = this.sideOf(fromX, fromY);
    const span = from - this.sideOf(toX, toY);
    // Position of the intersection along the line, times its length squared and the span: without a division, exact.
    const along =
      (fromX * this.#right + fromY * this.#down) * span +
      from * ((toX - fromX) * this.#right + (toY - fromY) * this.#down);
    const end = (this.#right * this.#right + this.#down * this.#down) * span;
    return span > 0 ? along >= 0 && along <= end : along <= 0 && along >= end;
  }
}
