/** Crowds: some cell of a grid holds many tracks for a while. */
import { type Static, Type } from "typebox";
import type { JsonRecord } from "../../../schemas/json.ts";
import {
  type AlertType,
  count,
  type Evaluator,
  exampleOutput,
  HOLD_MS,
  MOST_TOLD,
  NO_VERDICTS,
  type Scene,
  type Sighting,
  seconds,
  type Verdict,
} from "../alert-type.ts";
import { checkFilter, Filter, Sieve } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const MOST_CELLS_A_SIDE = 50;

const side = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ default: fallback, minimum: 1, maximum: MOST_CELLS_A_SIDE, description }));

const schemas = {
  trigger: Type.Object(
    {
      count: count("So many tracks in one cell, at least, make it dense.", 5),
      for_seconds: seconds("For so long without a break, before it is told of.", 3),
      cooldown_seconds: seconds(
        "So many seconds at least between two `triggered`, and before an `updated`. That it is over is always told at once.",
        10,
      ),
    },
    { additionalProperties: false, description: "When a cell is dense." },
  ),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      rows: side("Cells from the top of the region to its bottom; on the map from south to north.", 4),
      columns: side("Cells from the left of the region to its right; on the map from west to east.", 4),
    },
    {
      additionalProperties: false,
      description: "The grid: cells of the same size in the smallest upright rectangle around the region.",
    },
  ),
};

export interface GridDensityConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const gridDensity: AlertType = {
  name: "grid-density",
  about:
    "Tells where it gets crowded. The region is divided into a grid; a cell that holds at least `count` tracks for `for_seconds` is dense. `triggered` when there is a dense cell where there was none, `updated` when other cells are dense than were told of, `cleared` when none is any more. A track that is not seen for a moment counts where it was, for up to a second.",
  schemas,
  example: {
    alias: "Crowd at the entrance",
    type: "grid-density",
    trigger: { count: 5, for_seconds: 10, cooldown_seconds: 60 },
    region: {
      type: "image",
      polygon: [
        [0.1, 0.4],
        [0.9, 0.4],
        [1, 1],
        [0, 1],
      ],
    },
    filter: { class_names: ["person"], min_confidence: 0.5 },
    parameters: { rows: 3, columns: 4 },
    output: exampleOutput("alerts/crowd"),
  },
  check({ region, filter }) {
    return [...checkRegion(region as Region), ...checkFilter(filter as Filter)];
  },
  create: (configuration) => new GridDensity(configuration as unknown as GridDensityConfiguration),
};

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
