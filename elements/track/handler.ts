import type { Box, Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { Frame, FrameFormat, Handler } from "../element.ts";
import type { Sighting } from "./mot-tracker.ts";
import { DEFAULT_SETTINGS, type TrackerSettings } from "./settings.ts";
import { type ShownTrack, Tracker, type TrackerFrame } from "./tracker.ts";

export interface TrackProperties {
  readonly maxAgeMs: number;
  readonly firstId: number;
}

/** Reads `detections`, writes `tracks`. The tracker works in pixels, where a step right is as long as a step down. */
export class TrackHandler implements Pick<Handler, "process" | "flush"> {
  readonly #tracker: Tracker;
  readonly #names = new Map<number, string>();

  constructor(properties: TrackProperties) {
    this.#tracker = new Tracker(readSettings(properties));
  }

  process(frame: Frame): undefined {
    const detections = frame.meta.detections as Detections;
    const timeNs = frame.ptsNs ?? frame.captureNs;
    const found = detections.inferred ? this.#look(timeNs, detections, frame.format) : this.#tracker.predict(timeNs);
    const objects = found.shown.map((track) => this.#describe(track, frame.format)).filter(isInside);
    const tracks: Tracks = { inferred: detections.inferred, objects, ended: [...found.ended] };
    frame.write({ tracks });
  }

  update(properties: TrackProperties): void {
    this.#tracker.settings = readSettings(properties);
  }

  flush(): void {
    this.#tracker.reset();
  }

  #look(timeNs: bigint, { confidence, objects, weak }: Detections, format: FrameFormat): TrackerFrame {
    this.#tracker.settings = { ...this.#tracker.settings, confidence };
    return this.#tracker.update(
      timeNs,
      [...objects, ...weak].map((detection) => this.#read(detection, format)),
    );
  }

  #read({ classId, className, confidence, box }: Detection, { width, height }: FrameFormat): Sighting {
    this.#names.set(classId, className);
    return { classId, confidence, box: [box[0] * width, box[1] * height, box[2] * width, box[3] * height] };
  }

  #describe(track: ShownTrack, { width, height }: FrameFormat): Track {
    const { id, confidence, classId, predicted, ageMs, velocity } = track;
    return {
      id,
      classId,
      className: this.#names.get(classId) ?? "",
      confidence,
      box: clip(track.box, width, height),
      predicted,
      ageMs: Math.round(ageMs),
      velocity: [velocity[0] / width, velocity[1] / height],
    };
  }
}

function readSettings({ maxAgeMs, firstId }: TrackProperties): TrackerSettings {
  return { ...DEFAULT_SETTINGS, maxAgeS: maxAgeMs / 1000, firstId };
}

function clip([left, top, width, height]: ShownTrack["box"], frameWidth: number, frameHeight: number): Box {
  const hold = (value: number): number => Math.min(Math.max(value, 0), 1);
  const x = hold(left / frameWidth);
  const y = hold(top / frameHeight);
  return [x, y, hold((left + width) / frameWidth) - x, hold((top + height) / frameHeight) - y];
}

/** A track that has left the picture is still followed, but there is nothing to show of it. */
const isInside = ({ box }: Track): boolean => box[2] > 0 && box[3] > 0;
