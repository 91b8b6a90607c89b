/** Tracks that are looked for. */
import { type Static, Type } from "typebox";
import {
  type AlertType,
  type Evaluator,
  exampleOutput,
  FORGOTTEN_MS,
  HOLD_MS,
  NO_VERDICTS,
  none,
  type Scene,
  type Sighting,
  seconds,
  type Verdict,
} from "../alert-type.ts";
import { checkFilter, Filter, Sieve } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const schemas = {
  trigger: Type.Object(
    {
      for_seconds: seconds("A track must match the filter inside the region for so long without a break.", 0),
      once_per_track: Type.Optional(
        Type.Boolean({
          default: true,
          description:
            "Each track is told of once. Otherwise again whenever it has left, or stopped to match, and come back.",
        }),
      ),
    },
    { additionalProperties: false, description: "When a track is found." },
  ),
  region: Region,
  filter: Filter,
  parameters: none("Nothing: the filter says what is looked for."),
};

export interface FilterSearchConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
}

export const filterSearch: AlertType = {
  name: "filter-search",
  about:
    "Finds tracks that match a filter inside a region: of some class, size, age or speed. `triggered` for each of them, with the best picture of it in `data.patch`: `image` (a JPEG in base64), `confidence` (percent) and `timestamp`; null where none could be taken. A track that is not seen for up to a second has not left.",
  schemas,
  example: {
    alias: "Truck in the yard",
    type: "filter-search",
    trigger: { for_seconds: 2, once_per_track: true },
    region: {
      type: "image",
      polygon: [
        [0.5, 0.5],
        [1, 0.5],
        [1, 1],
        [0.5, 1],
      ],
    },
    filter: { class_names: ["truck"], min_confidence: 0.5, min_area: 0.01 },
    output: exampleOutput("alerts/yard"),
  },
  check({ region, filter }) {
    return [...checkRegion(region as Region), ...checkFilter(filter as Filter)];
  },
  create: (configuration) => new FilterSearch(configuration as unknown as FilterSearchConfiguration),
};

/** With one picture. Each has a picture to be taken; the others still match on the next. */
const MOST_FOUND = 4;

interface Match {
  seenMs: number;
  /** Null once it was told of and has left. */
  sinceMs: number | null;
  isTold: boolean;
}

export class FilterSearch implements Evaluator {
  readonly #area: Area;
  readonly #sieve: Sieve;
  readonly #trigger: FilterSearchConfiguration["trigger"];
  readonly #matches = new Map<number, Match>();

  constructor({ trigger, region, filter }: FilterSearchConfiguration) {
    this.#area = new Area(region);
    this.#sieve = new Sieve(filter);
    this.#trigger = trigger;
  }

  see({ timeMs, inferred, sightings, ended }: Scene): readonly Verdict[] {
    let verdicts: Verdict[] | null = null;
    let matching = 0;
    for (const sighting of sightings) {
      if (!this.#sieve.isSeen(sighting)) continue;
      const match = this.#match(sighting, timeMs);
      if (match === null) continue;
      matching += 1;
      if (match.isTold || match.sinceMs === null) continue;
      if (timeMs - match.sinceMs < this.#trigger.for_seconds * 1000 || verdicts?.length === MOST_FOUND) continue;
      match.isTold = true;
      verdicts ??= [];
      verdicts.push(describe(sighting, match.sinceMs, timeMs));
    }
    for (const id of ended) this.#matches.delete(id);
    // Mostly all of them were seen: then none needs to be asked.
    if (inferred && matching < this.#matches.size) this.#sweep(timeMs);
    return verdicts ?? NO_VERDICTS;
  }

  forget(): void {
    this.#matches.clear();
  }

  /** Those that match and were not told of yet. */
  listSuspects(into: Set<number>): void {
    for (const [id, { isTold, sinceMs }] of this.#matches) if (!isTold && sinceMs !== null) into.add(id);
  }

  #match(sighting: Sighting, timeMs: number): Match | null {
    const { id } = sighting.track;
    if (!this.#isMatching(sighting)) {
      const match = this.#matches.get(id);
      if (match !== undefined) {
        match.seenMs = timeMs;
        this.#leave(id);
      }
      return null;
    }
    const known = this.#matches.get(id);
    if (known === undefined) {
      const match = { seenMs: timeMs, sinceMs: timeMs, isTold: false };
      this.#matches.set(id, match);
      return match;
    }
    known.sinceMs ??= timeMs;
    known.seenMs = timeMs;
    return known;
  }

  #sweep(timeMs: number): void {
    for (const [id, { seenMs, sinceMs }] of this.#matches) {
      if (sinceMs !== null && timeMs - seenMs > HOLD_MS) this.#leave(id);
      if (timeMs - seenMs > FORGOTTEN_MS) this.#matches.delete(id);
    }
  }

  #isMatching(sighting: Sighting): boolean {
    return this.#area.has(this.#area.xOf(sighting), this.#area.yOf(sighting)) && this.#sieve.passes(sighting);
  }

  /** Of one that is told of no more than once it is remembered that it was. */
  #leave(id: number): void {
    const match = this.#matches.get(id);
    if (match === undefined) return;
    if (match.isTold && this.#trigger.once_per_track) match.sinceMs = null;
    else this.#matches.delete(id);
  }
}

function describe(sighting: Sighting, sinceMs: number, timeMs: number): Verdict {
  const data = {
    track_id: sighting.track.id,
    since: new Date(sinceMs).toISOString(),
    matched_seconds: (timeMs - sinceMs) / 1000,
  };
  return { event: "triggered", sightings: [sighting], data, patchOf: sighting.track.id };
}
