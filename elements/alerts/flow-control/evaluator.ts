import {
  type Evaluator,
  FORGOTTEN_MS,
  MOST_TOLD,
  NO_VERDICTS,
  type Scene,
  type Sighting,
  type Verdict,
} from "../alert-type.ts";
import { Sieve } from "../filter.ts";
import type { FlowControlConfiguration } from "./flow-control.ts";
import { Line } from "./line.ts";

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
