import type { JsonRecord } from "../../../schemas/json.ts";
import {
  type Evaluator,
  HOLD_MS,
  MOST_TOLD,
  NO_VERDICTS,
  type Scene,
  type Sighting,
  type Verdict,
} from "../alert-type.ts";
import { Sieve } from "../filter.ts";
import { Area } from "../region.ts";
import type { GridDensityConfiguration } from "./grid-density.ts";

interface Visitor {
  sighting: Sighting;
  seenMs: number;
  cell: number;
}

/** A cell that holds somebody. */
interface Cell {
  count: number;
  /** Since when it holds enough of them; null while it does not. */
  sinceMs: number | null;
}

export class GridDensity implements Evaluator {
  readonly #area: Area;
  readonly #sieve: Sieve;
  readonly #trigger: GridDensityConfiguration["trigger"];
  readonly #grid: GridDensityConfiguration["parameters"];
  readonly #visitors = new Map<number, Visitor>();
  readonly #cells = new Map<number, Cell>();
  /** Dense cells that were told of last; null while nothing is. */
  #told: ReadonlySet<number> | null = null;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor({ trigger, region, filter, parameters }: GridDensityConfiguration) {
    this.#area = new Area(region);
    this.#sieve = new Sieve(filter);
    this.#trigger = trigger;
    this.#grid = parameters;
  }

  see(scene: Scene): readonly Verdict[] {
    for (const id of scene.ended) this.#leave(id);
    let seen = 0;
    for (const sighting of scene.sightings)
      if (this.#sieve.isSeen(sighting) && this.#place(sighting, scene.timeMs)) seen += 1;
    // Mostly everybody is: then nobody needs to be asked.
    if (scene.inferred && seen < this.#visitors.size)
      for (const [id, { seenMs }] of this.#visitors) if (scene.timeMs - seenMs > HOLD_MS) this.#leave(id);
    return this.#judge(scene.timeMs);
  }

  forget(): void {
    this.#visitors.clear();
    this.#cells.clear();
    this.#toldMs = Number.NEGATIVE_INFINITY;
  }

  /** How many tracks are in each cell that has any, row by row. */
  get counts(): ReadonlyMap<number, number> {
    return new Map([...this.#cells].map(([cell, { count }]) => [cell, count]));
  }

  /** Whether it is in a cell. */
  #place(sighting: Sighting, timeMs: number): boolean {
    const { id } = sighting.track;
    const cell = this.#findCell(sighting);
    const visitor = this.#visitors.get(id);
    if (visitor !== undefined && visitor.cell === cell) {
      visitor.sighting = sighting;
      visitor.seenMs = timeMs;
      return true;
    }
    if (visitor !== undefined) this.#leave(id);
    if (cell === null) return false;
    this.#visitors.set(id, { sighting, seenMs: timeMs, cell });
    const held = this.#cells.get(cell);
    if (held === undefined) this.#cells.set(cell, { count: 1, sinceMs: null });
    else held.count += 1;
    return true;
  }

  /** Null where it does not count. */
  #findCell(sighting: Sighting): number | null {
    const x = this.#area.xOf(sighting);
    const y = this.#area.yOf(sighting);
    if (!this.#area.has(x, y) || !this.#sieve.passes(sighting)) return null;
    const { rows, columns } = this.#grid;
    const column = Math.min(Math.floor(((x - this.#area.left) / this.#area.width) * columns), columns - 1);
    const row = Math.min(Math.floor(((y - this.#area.top) / this.#area.height) * rows), rows - 1);
    return row * columns + column;
  }

  #leave(id: number): void {
    const visitor = this.#visitors.get(id);
    const cell = visitor && this.#cells.get(visitor.cell);
    if (cell !== undefined) cell.count -= 1;
    this.#visitors.delete(id);
  }

  #judge(timeMs: number): readonly Verdict[] {
    const dense = this.#findDense(timeMs);
    if (dense === null) {
      if (this.#told === null) return NO_VERDICTS;
      this.#told = null;
      return [{ event: "cleared", sightings: [], data: this.#describe([]) }];
    }
    if (this.#told !== null && isSame(this.#told, dense)) return NO_VERDICTS;
    if (timeMs - this.#toldMs < this.#trigger.cooldown_seconds * 1000) return NO_VERDICTS;
    const event = this.#told === null ? "triggered" : "updated";
    this.#told = new Set(dense.keys());
    this.#toldMs = timeMs;
    const sightings = [...this.#visitors.values()].filter(({ cell }) => dense.has(cell));
    return [
      { event, sightings: sightings.slice(0, MOST_TOLD).map((one) => one.sighting), data: this.#describe(dense) },
    ];
  }

  /** Those that have been so for long enough; null for none. Cells that nobody is in any more are forgotten. */
  #findDense(timeMs: number): ReadonlyMap<number, Cell> | null {
    let dense: Map<number, Cell> | null = null;
    for (const [index, cell] of this.#cells) {
      if (cell.count === 0) this.#cells.delete(index);
      if (cell.count < this.#trigger.count) cell.sinceMs = null;
      else {
        cell.sinceMs ??= timeMs;
        if (timeMs - cell.sinceMs >= this.#trigger.for_seconds * 1000) {
          dense ??= new Map();
          dense.set(index, cell);
        }
      }
    }
    return dense;
  }

  #describe(dense: Iterable<readonly [index: number, cell: Cell]>): JsonRecord {
    const { rows, columns } = this.#grid;
    const cells = [...dense]
      .sort(([a], [b]) => a - b)
      .slice(0, MOST_TOLD)
      .map(([index, { count, sinceMs }]) => ({
        row: Math.floor(index / columns),
        column: index % columns,
        count,
        since: new Date(sinceMs ?? 0).toISOString(),
      }));
    return { rows, columns, cells };
  }
}

function isSame(told: ReadonlySet<number>, dense: ReadonlyMap<number, Cell>): boolean {
  if (told.size !== dense.size) return false;
  for (const index of dense.keys()) if (!told.has(index)) return false;
  return true;
}
