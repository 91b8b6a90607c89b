/**
 * From recorded detection messages back to what the element `alerts` sees. Messages say less than frames: not how old a
 * track was before it was first told of, nor whether a box is where the object was seen or where it should be by now.
 */
import type { Scene, Sighting } from "../../elements/alerts/alert-type.ts";
import { LookPace } from "../../elements/track/look-pace.ts";
import { DEFAULT_SETTINGS } from "../../elements/track/settings.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { Place } from "../../schemas/places.ts";

interface Known {
  readonly firstMs: number;
  readonly lastMs: number;
  /** Of its box, in fractions of the frame. */
  readonly centre: readonly [x: number, y: number];
  readonly velocity: readonly [right: number, down: number];
}

/** One recording, in the order of its messages. Remembers only tracks that may still come again. */
export class Scenes {
  readonly #known = new Map<number, Known>();
  readonly #pace = new LookPace();
  #lastMs: number | null = null;

  /** As long as a time later than that of the message before; one that is not is for the caller to refuse. */
  next(message: DetectionMessage): Scene {
    const timeMs = Date.parse(message.timestamp);
    if (this.#lastMs !== null) this.#pace.note((timeMs - this.#lastMs) / 1000);
    this.#lastMs = timeMs;
    // Without tracking all ids are 0: objects that nobody follows have no alerts either, as in the graph.
    const entries = message.active_tracks.filter(({ track_id }) => track_id > 0);
    const sightings = entries.map((entry) => this.#see(entry, timeMs));
    return { timeMs, inferred: true, sightings, ended: this.#giveUp(timeMs) };
  }

  #see(entry: TrackEntry, timeMs: number): Sighting {
    const [x, y, width, height] = entry.scaled_bbox;
    const centre = [x + width / 2, y + height / 2] as const;
    const before = this.#known.get(entry.track_id);
    const known: Known = {
      firstMs: before?.firstMs ?? timeMs,
      lastMs: timeMs,
      centre,
      velocity: before === undefined ? [0, 0] : velocityBetween(before, centre, timeMs),
    };
    this.#known.set(entry.track_id, known);
    return {
      track: {
        id: entry.track_id,
        classId: entry.class_id,
        className: entry.class_name,
        confidence: entry.confidence / 100,
        box: [x, y, width, height],
        predicted: false,
        ageMs: timeMs - known.firstMs,
        velocity: [...known.velocity],
      },
      place: placeOf(entry),
    };
  }

  /** As the tracker does: unseen for its time of life, which is longer where one looks seldom. */
  #giveUp(timeMs: number): readonly number[] {
    const lifeMs = this.#pace.stretch(DEFAULT_SETTINGS.maxAgeS) * 1000;
    const ended = [...this.#known].filter(([, { lastMs }]) => timeMs - lastMs > lifeMs).map(([id]) => id);
    for (const id of ended) this.#known.delete(id);
    return ended.sort((a, b) => a - b);
  }
}

function velocityBetween(before: Known, [x, y]: Known["centre"], timeMs: number): readonly [number, number] {
  const seconds = (timeMs - before.lastMs) / 1000;
  if (seconds <= 0) return before.velocity;
  return [(x - before.centre[0]) / seconds, (y - before.centre[1]) / seconds];
}

function placeOf(entry: TrackEntry): Place | null {
  const { latitude, longitude, altitude, azimuth, elevation } = entry;
  if (azimuth === undefined || elevation === undefined) return null;
  const isPlaced = latitude !== undefined && longitude !== undefined;
  return {
    azimuth,
    elevation,
    distance: entry.distance ?? null,
    isDistanceEstimated: entry.distance_estimated === true,
    spot: isPlaced
      ? {
          latitude,
          longitude,
          altitude: altitude ?? 0,
          errorM: entry.position_error_m ?? 0,
          speedMps: entry.speed_mps ?? null,
          heading: entry.heading ?? null,
        }
      : null,
  };
}

/** Of the picture that the boxes are in; by the largest of them, as they are rounded. Null where there is none. */
export function sizeOfInput({ active_tracks }: DetectionMessage): { width: number; height: number } | null {
  const sizes = active_tracks.flatMap(({ bbox, scaled_bbox }) =>
    scaled_bbox[2] > 0 && scaled_bbox[3] > 0
      ? [{ width: bbox[2] / scaled_bbox[2], height: bbox[3] / scaled_bbox[3], area: bbox[2] * bbox[3] }]
      : [],
  );
  const [largest] = sizes.sort((a, b) => b.area - a.area);
  return largest === undefined ? null : { width: Math.round(largest.width), height: Math.round(largest.height) };
}
