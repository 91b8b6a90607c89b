/** Notifies of every track that matches a filter inside a region. */
import { type Static, Type } from "typebox";
import {
  type AlertEvent,
  type AlertType,
  type Evaluator,
  exampleOutput,
  FORGOTTEN_MS,
  HOLD_MS,
  NO_EVENTS,
  none,
  type Scene,
  type Sighting,
  seconds,
} from "../alert-type.ts";
import { checkFilter, Filter, TrackFilter } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const schemas = {
  trigger: Type.Object(
    {
      for_seconds: seconds("A track must match the filter inside the region for this time without interruption.", 0),
      once_per_track: Type.Optional(
        Type.Boolean({
          default: true,
          description:
            "Notify once per track. If false, notify again each time the track leaves, or stops matching, and returns.",
        }),
      ),
    },
    { additionalProperties: false, description: "When a track counts as found." },
  ),
  region: Region,
  filter: Filter,
  parameters: none("None: the filter selects the tracks."),
};

interface FilterSearchConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
}

export const filterSearch: AlertType = {
  name: "filter-search",
  about:
    "Finds tracks that match a filter inside a region: by class, size, age or speed. `triggered` for each track, with its best image in `data.patch`: `image` (JPEG in base64), `confidence` (percent) and `timestamp`; null if no image could be taken. A track that is not detected for up to a second has not left.",
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

/** Events per frame: each needs an image. Further matches follow with the next frames. */
const MAX_FOUND = 4;

interface Match {
  seenMs: number;
  /** Null: it caused its event and has left. */
  sinceMs: number | null;
  isNotified: boolean;
}

class FilterSearch implements Evaluator {
  readonly #area: Area;
  readonly #filter: TrackFilter;
  readonly #trigger: FilterSearchConfiguration["trigger"];
  readonly #matches = new Map<number, Match>();

  constructor({ trigger, region, filter }: FilterSearchConfiguration) {
    this.#area = new Area(region);
    this.#filter = new TrackFilter(filter);
    this.#trigger = trigger;
  }

  see({ timeMs, inferred, sightings, ended }: Scene): readonly AlertEvent[] {
    let events: AlertEvent[] | null = null;
    let matching = 0;
    for (const sighting of sightings) {
      if (!this.#filter.isSeen(sighting)) continue;
      const match = this.#match(sighting, timeMs);
      if (match === null) continue;
      matching += 1;
      if (match.isNotified || match.sinceMs === null) continue;
      if (timeMs - match.sinceMs < this.#trigger.for_seconds * 1000 || events?.length === MAX_FOUND) continue;
      match.isNotified = true;
      events ??= [];
      events.push(describe(sighting, match.sinceMs, timeMs));
    }
    for (const id of ended) this.#matches.delete(id);
    // Usually every match was seen in this frame: no sweep needed.
    if (inferred && matching < this.#matches.size) this.#sweep(timeMs);
    return events ?? NO_EVENTS;
  }

  forget(): void {
    this.#matches.clear();
  }

  /** Tracks that match and have not caused an event yet. */
  listCandidates(into: Set<number>): void {
    for (const [id, { isNotified, sinceMs }] of this.#matches) if (!isNotified && sinceMs !== null) into.add(id);
  }

  #match(sighting: Sighting, timeMs: number): Match | null {
    const { id } = sighting.track;
    const known = this.#matches.get(id);
    const area = this.#area;
    if (!area.has(area.xOf(sighting), area.yOf(sighting)) || !this.#filter.passes(sighting)) {
      if (known !== undefined) {
        known.seenMs = timeMs;
        this.#leave(id, known);
      }
      return null;
    }
    if (known === undefined) {
      const match = { seenMs: timeMs, sinceMs: timeMs, isNotified: false };
      this.#matches.set(id, match);
      return match;
    }
    known.sinceMs ??= timeMs;
    known.seenMs = timeMs;
    return known;
  }

  #sweep(timeMs: number): void {
    for (const [id, match] of this.#matches) {
      if (match.sinceMs !== null && timeMs - match.seenMs > HOLD_MS) this.#leave(id, match);
      if (timeMs - match.seenMs > FORGOTTEN_MS) this.#matches.delete(id);
    }
  }

  /** With `once_per_track`, a track that caused its event is remembered. */
  #leave(id: number, match: Match): void {
    if (match.isNotified && this.#trigger.once_per_track) match.sinceMs = null;
    else this.#matches.delete(id);
  }
}

function describe(sighting: Sighting, sinceMs: number, timeMs: number): AlertEvent {
  const data = {
    track_id: sighting.track.id,
    since: new Date(sinceMs).toISOString(),
    matched_seconds: (timeMs - sinceMs) / 1000,
  };
  return { event: "triggered", sightings: [sighting], data, patchTrackId: sighting.track.id };
}
