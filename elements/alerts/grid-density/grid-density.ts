/** Detects crowds: a cell of a grid holds many tracks for some time. */
import { type Static, Type } from "typebox";
import type { JsonRecord } from "../../../schemas/json.ts";
import {
  type AlertEvent,
  type AlertType,
  count,
  type Evaluator,
  exampleOutput,
  HOLD_MS,
  MAX_LISTED,
  NO_EVENTS,
  type Scene,
  type Sighting,
  seconds,
} from "../alert-type.ts";
import { checkFilter, Filter, TrackFilter } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const side = (description: string) => Type.Optional(Type.Integer({ default: 4, minimum: 1, maximum: 50, description }));

const schemas = {
  trigger: Type.Object(
    {
      count: count("Minimum number of tracks in one cell.", 5),
      for_seconds: seconds("The cell must hold that many tracks for this time without interruption.", 3),
      cooldown_seconds: seconds(
        "Minimum time between two `triggered`, and before an `updated`. `cleared` is always sent at once.",
        10,
      ),
    },
    { additionalProperties: false, description: "When a cell is dense." },
  ),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      rows: side("Number of cells from the top of the region to its bottom; on the map from south to north."),
      columns: side("Number of cells from the left of the region to its right; on the map from west to east."),
    },
    {
      additionalProperties: false,
      description: "The grid: cells of equal size in the bounding box of the region.",
    },
  ),
};

interface GridDensityConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const gridDensity: AlertType = {
  name: "grid-density",
  about:
    "Detects crowds. The region is divided into a grid; a cell that holds at least `count` tracks for `for_seconds` is dense. `triggered` when a cell becomes dense while none was, `updated` when the set of dense cells changes, `cleared` when no cell is dense. A track that is not detected keeps its last position for up to a second.",
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

interface Occupant {
  sighting: Sighting;
  seenMs: number;
  cell: number;
}

/** A cell with at least one track. */
interface Cell {
  count: number;
  /** Since when it holds enough tracks; null while it does not. */
  sinceMs: number | null;
}

export class GridDensity implements Evaluator {
  readonly #area: Area;
  readonly #filter: TrackFilter;
  readonly #trigger: GridDensityConfiguration["trigger"];
  readonly #grid: GridDensityConfiguration["parameters"];
  readonly #occupants = new Map<number, Occupant>();
  readonly #cells = new Map<number, Cell>();
  /** Dense cells of the last event; null while cleared. */
  #notified: ReadonlySet<number> | null = null;
  #notifiedMs = Number.NEGATIVE_INFINITY;

  constructor({ trigger, region, filter, parameters }: GridDensityConfiguration) {
    this.#area = new Area(region);
    this.#filter = new TrackFilter(filter);
    this.#trigger = trigger;
    this.#grid = parameters;
  }

  see(scene: Scene): readonly AlertEvent[] {
    for (const id of scene.ended) this.#leave(id);
    let seen = 0;
    for (const sighting of scene.sightings)
      if (this.#filter.isSeen(sighting) && this.#place(sighting, scene.timeMs)) seen += 1;
    // Usually every occupant was seen in this frame, and none can have expired.
    if (scene.inferred && seen < this.#occupants.size)
      for (const [id, { seenMs }] of this.#occupants) if (scene.timeMs - seenMs > HOLD_MS) this.#leave(id);
    return this.#evaluate(scene.timeMs);
  }

  forget(): void {
    this.#occupants.clear();
    this.#cells.clear();
    this.#notifiedMs = Number.NEGATIVE_INFINITY;
  }

  /** Number of tracks per occupied cell; cells are numbered row by row. */
  get counts(): ReadonlyMap<number, number> {
    return new Map([...this.#cells].map(([cell, { count }]) => [cell, count]));
  }

  /** Returns whether the track is in a cell. */
  #place(sighting: Sighting, timeMs: number): boolean {
    const { id } = sighting.track;
    const cell = this.#findCell(sighting);
    const occupant = this.#occupants.get(id);
    if (occupant !== undefined && occupant.cell === cell) {
      occupant.sighting = sighting;
      occupant.seenMs = timeMs;
      return true;
    }
    if (occupant !== undefined) this.#leave(id);
    if (cell === null) return false;
    this.#occupants.set(id, { sighting, seenMs: timeMs, cell });
    const held = this.#cells.get(cell);
    if (held === undefined) this.#cells.set(cell, { count: 1, sinceMs: null });
    else held.count += 1;
    return true;
  }

  /** Null if the track does not count. */
  #findCell(sighting: Sighting): number | null {
    const x = this.#area.xOf(sighting);
    const y = this.#area.yOf(sighting);
    if (!this.#area.has(x, y) || !this.#filter.passes(sighting)) return null;
    const { rows, columns } = this.#grid;
    const column = Math.min(Math.floor(((x - this.#area.left) / this.#area.width) * columns), columns - 1);
    const row = Math.min(Math.floor(((y - this.#area.top) / this.#area.height) * rows), rows - 1);
    return row * columns + column;
  }

  #leave(id: number): void {
    const occupant = this.#occupants.get(id);
    const cell = occupant && this.#cells.get(occupant.cell);
    if (cell !== undefined) cell.count -= 1;
    this.#occupants.delete(id);
  }

  #evaluate(timeMs: number): readonly AlertEvent[] {
    const dense = this.#findDense(timeMs);
    if (dense === null) {
      if (this.#notified === null) return NO_EVENTS;
      this.#notified = null;
      return [{ event: "cleared", sightings: [], data: this.#describe([]) }];
    }
    if (this.#notified !== null && isSame(this.#notified, dense)) return NO_EVENTS;
    if (timeMs - this.#notifiedMs < this.#trigger.cooldown_seconds * 1000) return NO_EVENTS;
    const event = this.#notified === null ? "triggered" : "updated";
    this.#notified = new Set(dense.keys());
    this.#notifiedMs = timeMs;
    const occupants = [...this.#occupants.values()].filter(({ cell }) => dense.has(cell)).slice(0, MAX_LISTED);
    return [{ event, sightings: occupants.map(({ sighting }) => sighting), data: this.#describe(dense) }];
  }

  /** Cells that have been dense for long enough, or null. Removes empty cells. */
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
      .slice(0, MAX_LISTED)
      .map(([index, { count, sinceMs }]) => ({
        row: Math.floor(index / columns),
        column: index % columns,
        count,
        since: new Date(sinceMs ?? 0).toISOString(),
      }));
    return { rows, columns, cells };
  }
}

function isSame(notified: ReadonlySet<number>, dense: ReadonlyMap<number, Cell>): boolean {
  if (notified.size !== dense.size) return false;
  for (const index of dense.keys()) if (!notified.has(index)) return false;
  return true;
}
