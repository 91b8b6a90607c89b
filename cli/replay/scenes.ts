/**
 * Rebuilds the frames that the element `alerts` receives from recorded detection messages. Messages contain less than
 * frames: neither the age of a track before its first message, nor whether a box was seen or predicted.
 */
import type { AlertsFrame } from "../../elements/alerts/handler.ts";
import { DEFAULT_SETTINGS, InferencePace } from "../../elements/track/settings.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { Track, Tracks } from "../../schemas/detections.ts";
import type { Json } from "../../schemas/json.ts";
import type { Place, Places } from "../../schemas/places.ts";

interface Known {
  readonly entry: TrackEntry;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly velocity: readonly [right: number, down: number];
}

/** There are no pixels: requests for an image are aborted. */
const GONE = AbortSignal.abort();
const NO_FORMAT = { caps: "", mediaType: "video/x-raw", pixels: null, fps: 0 } as const;

/** One recording, in the order of its messages. Keeps only tracks that may reappear. */
export class Scenes {
  readonly #known = new Map<number, Known>();
  readonly #pace = new InferencePace();
  #lastMs: number | null = null;
  /** Frame size; arbitrary until an object was seen. */
  #size = { width: 1, height: 1 };

  /** Timestamps must not decrease. */
  next(message: DetectionMessage): AlertsFrame {
    const timeMs = Date.parse(message.timestamp);
    if (this.#lastMs !== null) this.#pace.note((timeMs - this.#lastMs) / 1000);
    this.#lastMs = timeMs;
    this.#size = sizeOfInput(message) ?? this.#size;
    // Objects without an id are not tracked, and have no alerts in the graph either.
    const entries = message.active_tracks.filter(({ track_id }) => track_id > 0);
    const objects = entries.map((entry) => this.#see(entry, timeMs));
    const tracks: Tracks = { inferred: true, objects, ended: this.#giveUp(timeMs) };
    const places: Places = { mode: "full", objects: entries.map(placeOf), ageMs: null };
    return {
      captureNs: BigInt(timeMs) * 1_000_000n,
      inputSize: this.#size,
      format: { ...NO_FORMAT, ...this.#size },
      meta: { tracks: tracks as unknown as Json, places: places as unknown as Json },
      signal: GONE,
      image: () => Promise.reject(new Error("messages have no images")),
    };
  }

  /** The recorded entry if it is the same box: its numbers were rounded only once. */
  restore(entry: TrackEntry): TrackEntry {
    const known = this.#known.get(entry.track_id)?.entry;
    return known?.scaled_bbox.every((value, index) => value === entry.scaled_bbox[index]) ? known : entry;
  }

  #see(entry: TrackEntry, timeMs: number): Track {
    const before = this.#known.get(entry.track_id);
    const known: Known = {
      entry,
      firstMs: before?.firstMs ?? timeMs,
      lastMs: timeMs,
      velocity: before === undefined ? [0, 0] : velocitySince(before, entry, timeMs),
    };
    this.#known.set(entry.track_id, known);
    return {
      id: entry.track_id,
      classId: entry.class_id,
      className: entry.class_name,
      confidence: entry.confidence / 100,
      box: entry.scaled_bbox,
      predicted: false,
      ageMs: timeMs - known.firstMs,
      velocity: [...known.velocity],
    };
  }

  /** As the tracker does: a track ends after its maximum age, which is longer at a low inference rate. */
  #giveUp(timeMs: number): number[] {
    const lifeMs = this.#pace.stretch(DEFAULT_SETTINGS.maxAgeS) * 1000;
    const ended = [...this.#known].filter(([, { lastMs }]) => timeMs - lastMs > lifeMs).map(([id]) => id);
    for (const id of ended) this.#known.delete(id);
    return ended.sort((a, b) => a - b);
  }
}

function velocitySince(before: Known, { scaled_bbox: now }: TrackEntry, timeMs: number): readonly [number, number] {
  const seconds = (timeMs - before.lastMs) / 1000;
  if (seconds <= 0) return before.velocity;
  const then = before.entry.scaled_bbox;
  return [
    (now[0] + now[2] / 2 - then[0] - then[2] / 2) / seconds,
    (now[1] + now[3] / 2 - then[1] - then[3] / 2) / seconds,
  ];
}

function placeOf(entry: TrackEntry): Place | null {
  const { latitude, longitude, altitude = 0, azimuth, elevation } = entry;
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
          altitude,
          errorM: entry.position_error_m ?? 0,
          speedMps: entry.speed_mps ?? null,
          heading: entry.heading ?? null,
        }
      : null,
  };
}

/** Frame size, from the largest box because boxes are rounded. Null without boxes. */
function sizeOfInput({ active_tracks }: DetectionMessage): { width: number; height: number } | null {
  const sizes = active_tracks.flatMap(({ bbox, scaled_bbox }) =>
    scaled_bbox[2] > 0 && scaled_bbox[3] > 0
      ? [{ width: bbox[2] / scaled_bbox[2], height: bbox[3] / scaled_bbox[3], area: bbox[2] * bbox[3] }]
      : [],
  );
  const [largest] = sizes.sort((a, b) => b.area - a.area);
  return largest === undefined ? null : { width: Math.round(largest.width), height: Math.round(largest.height) };
}
