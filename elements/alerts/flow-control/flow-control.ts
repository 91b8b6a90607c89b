/** Traffic: so many tracks cross a line within a while. */
import { type Static, Type } from "typebox";
import {
  type AlertType,
  count,
  type Evaluator,
  exampleOutput,
  FORGOTTEN_MS,
  MOST_TOLD,
  NO_VERDICTS,
  type Scene,
  type Sighting,
  seconds,
  type Verdict,
} from "../alert-type.ts";
import { checkFilter, Filter, Sieve } from "../filter.ts";
import { checkPoints, MapPoint, type Space, SpaceName, unwrapDeg, xOf, yOf } from "../region.ts";

const schemas = {
  trigger: Type.Object(
    {
      count: count(
        "So many tracks crossed the line within the window, at least. Each counts once, however often it did.",
        1,
      ),
      direction: Type.Optional(
        Type.Unsafe<"forward" | "backward" | "any">(
          Type.Enum(["forward", "backward", "any"], {
            default: "any",
            description:
              "`forward`: from the left of the line to its right, as seen by somebody who goes from its first point to its second; of a line from top to bottom that is from the right of the picture to its left.",
          }),
        ),
      ),
      cooldown_seconds: seconds(
        "So many seconds at least between two notices. With 0, every further crossing is told while enough tracks have crossed.",
        0,
      ),
    },
    { additionalProperties: false, description: "How many tracks must cross, and which way." },
  ),
  region: Type.Object(
    {
      type: SpaceName,
      line: Type.Unsafe<[[x: number, y: number], [x: number, y: number]]>(
        Type.Array(MapPoint, {
          minItems: 2,
          maxItems: 2,
          description:
            "From its first point to its second. A track crosses it where the middle of the lower edge of its box does, its ends included. On the map it takes the shorter way around the earth.",
        }),
      ),
    },
    { additionalProperties: false, description: "The line." },
  ),
  filter: Filter,
  parameters: Type.Object(
    { window_seconds: seconds("Crossings of the last so many seconds count.", 10, 0.1) },
    { additionalProperties: false, description: "Over which time tracks are counted." },
  ),
};

export interface FlowControlConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Required<Static<typeof schemas.region>>;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const flowControl: AlertType = {
  name: "flow-control",
  about:
    "Counts tracks that cross a line. `triggered` when at least `count` tracks crossed it within `window_seconds` in that direction; the notice names them, and how many crossings there were each way since the alert began. A track has crossed once it is past the line by a twentieth of the size of its box, on the map by half a metre: who stands on the line and sways is not counted again and again, and who only touches it not at all. Between two sightings a track goes straight.",
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

/** In the window; those beyond are enough for any count that can be asked for. */
const MOST_CROSSINGS = 1000;

/** What is known of a track's way. Sides are positive to the right of the line, and never 0 once known. */
interface Walker {
  seenMs: number;
  x: number;
  y: number;
  /** On which side it was last, strictly; 0 while it was only seen on the line. */
  side: number;
  /** The side that it counts to be on: it must get past the sway to change that. */
  settled: number;
  /** Whether its last change of `side` went through the line, not past its ends. */
  hasPassed: boolean;
}

interface Crossing {
  readonly isForward: boolean;
  readonly timeMs: number;
  readonly sighting: Sighting;
}

export class FlowControl implements Evaluator {
  readonly #line: Line;
  readonly #sieve: Sieve;
  readonly #trigger: FlowControlConfiguration["trigger"];
  readonly #windowMs: number;
  readonly #walkers = new Map<number, Walker>();
  /** The last one of each track in the direction asked for, by id, oldest first. */
  readonly #crossings = new Map<number, Crossing>();
  #sweptMs = Number.NEGATIVE_INFINITY;
  #forward = 0;
  #backward = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor({ trigger, region, filter, parameters }: FlowControlConfiguration) {
    this.#line = new Line(region.type, region.line);
    this.#sieve = new Sieve(filter);
    this.#trigger = trigger;
    this.#windowMs = parameters.window_seconds * 1000;
  }

  see({ timeMs, sightings, ended }: Scene): readonly Verdict[] {
    let isNew = false;
    for (const sighting of sightings) if (this.#sieve.isSeen(sighting) && this.#follow(sighting, timeMs)) isNew = true;
    for (const id of ended) this.#walkers.delete(id);
    if (timeMs - this.#sweptMs > FORGOTTEN_MS / 2) this.#sweep(timeMs);
    return isNew ? this.#judge(timeMs) : NO_VERDICTS;
  }

  forget(): void {
    this.#walkers.clear();
    this.#crossings.clear();
    this.#toldMs = Number.NEGATIVE_INFINITY;
    this.#sweptMs = Number.NEGATIVE_INFINITY;
  }

  #sweep(timeMs: number): void {
    this.#sweptMs = timeMs;
    for (const [id, { seenMs }] of this.#walkers) if (timeMs - seenMs > FORGOTTEN_MS) this.#walkers.delete(id);
  }

  /** True where it has crossed in the direction asked for. */
  #follow(sighting: Sighting, timeMs: number): boolean {
    const x = this.#line.xOf(sighting);
    const y = this.#line.yOf(sighting);
    const distance = this.#line.sideOf(x, y);
    if (Number.isNaN(distance)) return false;
    const { id } = sighting.track;
    const side = Math.sign(distance);
    const walker = this.#walkers.get(id);
    if (walker === undefined) {
      this.#walkers.set(id, { seenMs: timeMs, x, y, side, settled: side, hasPassed: false });
      return false;
    }
    if (side !== 0 && side !== walker.side) {
      walker.hasPassed = this.#line.isPassed(walker.x, walker.y, x, y);
      walker.side = side;
    }
    walker.seenMs = timeMs;
    walker.x = x;
    walker.y = y;
    if (walker.settled === 0) walker.settled = side;
    if (side === 0 || side === walker.settled || Math.abs(distance) <= this.#line.swayOf(sighting)) return false;
    walker.settled = side;
    return walker.hasPassed && this.#sieve.passes(sighting) && this.#count(sighting, side > 0, timeMs);
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

  #judge(timeMs: number): readonly Verdict[] {
    for (const [id, crossing] of this.#crossings) {
      if (timeMs - crossing.timeMs < this.#windowMs && this.#crossings.size <= MOST_CROSSINGS) break;
      this.#crossings.delete(id);
    }
    const { count, direction, cooldown_seconds: cooldownSeconds } = this.#trigger;
    if (this.#crossings.size < count || timeMs - this.#toldMs < cooldownSeconds * 1000) return NO_VERDICTS;
    this.#toldMs = timeMs;
    const told = [...this.#crossings.values()].slice(-MOST_TOLD);
    const crossings = told.map(({ isForward, timeMs: atMs, sighting }) => ({
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
    return [{ event: "triggered", sightings: told.map(({ sighting }) => sighting), data }];
  }
}

/** The line that tracks cross, in a plane where y goes down: the right of it is where `sideOf` is positive. */
/** Boxes sway by less than this share of their size. */
const SWAY = 0.05;
const SWAY_M = 0.5;
const METRES_A_DEGREE = 111_320;

export class Line {
  readonly #space: Space;
  readonly #x: number;
  readonly #y: number;
  readonly #right: number;
  readonly #down: number;
  /** A degree of longitude is shorter than one of latitude by this. */
  readonly #narrow: number;

  constructor(space: Space, [a, b]: readonly [readonly [number, number], readonly [number, number]]) {
    const isGeo = space === "geo";
    this.#space = space;
    this.#narrow = isGeo ? Math.max(Math.cos((((a[1] + b[1]) / 2) * Math.PI) / 180), 1e-6) : 1;
    this.#x = a[0];
    this.#y = isGeo ? -a[1] : a[1];
    this.#right = isGeo ? unwrapDeg(b[0], a[0]) - a[0] : b[0] - a[0];
    this.#down = (isGeo ? -b[1] : b[1]) - this.#y;
  }

  /** Where a track is, from the first point of the line; NaN where it is not known. */
  xOf(sighting: Sighting): number {
    const x = xOf(sighting, this.#space);
    return (this.#space === "geo" ? unwrapDeg(x, this.#x) : x) - this.#x;
  }

  yOf(sighting: Sighting): number {
    const y = yOf(sighting, this.#space);
    return (this.#space === "geo" ? -y : y) - this.#y;
  }

  /** Grows with the distance from the infinite line; 0 on it. */
  sideOf(x: number, y: number): number {
    return this.#right * y - this.#down * x;
  }

  /** What `sideOf` may change by though the track stands still. */
  swayOf({ track }: Sighting): number {
    if (this.#space === "image")
      return SWAY * (Math.abs(this.#right) * track.box[3] + Math.abs(this.#down) * track.box[2]);
    // The length of the line in metres times the sway in metres, in square degrees of this latitude.
    return (Math.hypot(this.#right * this.#narrow, this.#down) * (SWAY_M / METRES_A_DEGREE)) / this.#narrow;
  }

  /** Whether the way from one point to another, on different sides, goes between the ends of the line or through one. */
  isPassed(fromX: number, fromY: number, toX: number, toY: number): boolean {
    const from = this.sideOf(fromX, fromY);
    const span = from - this.sideOf(toX, toY);
    // How far along the line the two meet, times its length squared and the span: no division, nothing is rounded away.
    const along =
      (fromX * this.#right + fromY * this.#down) * span +
      from * ((toX - fromX) * this.#right + (toY - fromY) * this.#down);
    const end = (this.#right * this.#right + this.#down * this.#down) * span;
    return span > 0 ? along >= 0 && along <= end : along <= 0 && along >= end;
  }
}
