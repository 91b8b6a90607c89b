import type { CameraMotion } from "../../schemas/camera-motion.ts";
import type { Box, Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import { PictureMotion } from "../../vision/picture-motion.ts";
import type { Frame, FrameFormat, Handler, Services } from "../element.ts";
import { readKept, writeKept } from "./kept-tracks.ts";
import type { Sighting } from "./mot-tracker.ts";
import { DEFAULT_SETTINGS, type TrackerSettings } from "./settings.ts";
import { type ShownTrack, Tracker } from "./tracker.ts";

/** Of capture time: more often is of no use to a successor. */
const KEEP_EVERY_NS = 200_000_000n;

export interface TrackProperties {
  readonly maxAgeMs: number;
  readonly showPredictedMs: number;
  readonly cameraMotion: "picture" | "detections" | "none";
}

/**
 * Reads `detections`, writes `tracks`. The tracker works in heights of the frame: isotropic, and independent of the
 * resolution.
 */
export class TrackHandler implements Pick<Handler, "process" | "flush"> {
  readonly #tracker: Tracker;
  readonly #clock = new FrameClock();
  readonly #picture = new PictureMotion();
  readonly #names = new Map<number, string>();
  #properties: TrackProperties;
  #shown: readonly ShownTrack[] = [];
  readonly #keep: Services["keep"];
  /** Capture time of the frame whose tracks were last kept. */
  #keptNs: bigint | null = null;
  /** Of the runner before, until the first frame. */
  #before: string | null;

  constructor(
    properties: TrackProperties,
    nextId: () => number,
    { keep, kept = null }: Pick<Services, "keep" | "kept"> = {},
  ) {
    this.#properties = properties;
    this.#tracker = new Tracker(readSettings(properties, DEFAULT_SETTINGS.confidence), nextId);
    this.#keep = keep;
    this.#before = kept;
  }

  process(frame: Frame): undefined {
    const detections = frame.meta.detections as Detections;
    const timeNs = this.#clock.read(frame);
    if (this.#before !== null) this.#restore(this.#before, frame, timeNs);
    const motion = this.#findMotion(frame, detections);
    this.#tracker.settings = readSettings(this.#properties, detections.confidence);
    const sightings = [...detections.objects, ...detections.weak].map((one) => this.#read(one, frame.format));
    const { shown, ended } = detections.inferred
      ? this.#tracker.update(timeNs, sightings, motion)
      : detections.still
        ? this.#tracker.hold(timeNs)
        : this.#tracker.predict(timeNs, motion);
    this.#shown = shown;
    const objects = shown.map((track) => this.#describe(track, frame.format)).filter(isInside);
    const tracks: Tracks = { inferred: detections.inferred, objects, ended: [...ended] };
    frame.write({ tracks });
    if (detections.inferred) this.#keepTracks(frame);
  }

  /** A successor of this runner continues from there. */
  #keepTracks({ captureNs }: Frame): void {
    if (this.#keep === undefined) return;
    if (this.#keptNs !== null && captureNs >= this.#keptNs && captureNs - this.#keptNs < KEEP_EVERY_NS) return;
    this.#keptNs = captureNs;
    const captureMs = Number(captureNs / 1_000_000n);
    this.#keep(writeKept({ captureMs, ...this.#tracker.keep(), names: [...this.#names] }));
  }

  #restore(text: string, { captureNs }: Frame, timeNs: bigint): void {
    this.#before = null;
    const kept = readKept(text);
    if (kept === null) return;
    const sinceS = Number(captureNs / 1_000_000n) / 1000 - kept.captureMs / 1000;
    // A stream that is set back further shows other objects.
    if (sinceS * 1000 < -this.#properties.maxAgeMs) return;
    for (const [classId, name] of kept.names) this.#names.set(classId, name);
    this.#tracker.restore(kept.tracks, kept.usualS, timeNs, sinceS);
  }

  update(properties: TrackProperties): void {
    this.#properties = properties;
    if (properties.cameraMotion !== "picture") this.#picture.forget();
  }

  flush(): void {
    this.#tracker.reset();
    this.#picture.forget();
    this.#clock.restart();
  }

  #findMotion(frame: Frame, detections: Detections): CameraMotion | null {
    const given = frame.meta.cameraMotion as CameraMotion | undefined;
    if (given !== undefined && isUsable(given)) {
      // A later frame without given motion must not be compared with one before this frame.
      this.#picture.forget();
      return given;
    }
    if (this.#properties.cameraMotion !== "picture") return null;
    if (frame.discontinuity) this.#picture.forget();
    const plane = frame.planes[0];
    if (plane === undefined) return null;
    const { width, height } = frame.format;
    const boxes = detections.inferred
      ? detections.objects.map(({ box }) => [box[0] * width, box[1] * height, box[2] * width, box[3] * height] as const)
      : this.#shown.map(({ box }) => [box[0] * height, box[1] * height, box[2] * height, box[3] * height] as const);
    return this.#picture.next(plane, boxes);
  }

  #read({ classId, className, confidence, box }: Detection, { width, height }: FrameFormat): Sighting {
    this.#names.set(classId, className);
    const aspect = width / height;
    return { classId, confidence, box: [box[0] * aspect, box[1], box[2] * aspect, box[3]] };
  }

  #describe(track: ShownTrack, { width, height }: FrameFormat): Track {
    const { id, confidence, classId, predicted, ageMs, velocity } = track;
    const aspect = width / height;
    return {
      id,
      classId,
      className: this.#names.get(classId) ?? "",
      confidence,
      box: clip(track.box, aspect),
      predicted,
      ageMs: Math.round(ageMs),
      velocity: [velocity[0] / aspect, velocity[1]],
    };
  }
}

function readSettings(properties: TrackProperties, confidence: number): TrackerSettings {
  return {
    confidence,
    maxAgeS: properties.maxAgeMs / 1000,
    showPredictedS: properties.showPredictedMs / 1000,
    isCameraFollowed: properties.cameraMotion !== "none",
  };
}

const isUsable = ({ a, b, right, down }: CameraMotion): boolean =>
  [a, b, right, down].every(Number.isFinite) && Math.hypot(a, b) > 0;

function clip([left, top, width, height]: ShownTrack["box"], aspect: number): Box {
  const hold = (value: number): number => Math.min(Math.max(value, 0), 1);
  const x = hold(left / aspect);
  const y = hold(top);
  return [x, y, hold((left + width) / aspect) - x, hold(top + height) - y];
}

/** A track outside the frame is still tracked, but not shown. */
const isInside = ({ box }: Track): boolean => box[2] > 0 && box[3] > 0;

/**
 * The time base of object motion: the PTS, which are smooth; after a gap the capture time, since the PTS of a reconnected
 * stream may continue without a gap; and the capture time if one of two frames has no PTS.
 */
export class FrameClock {
  #timeNs = 0n;
  #last: Pick<Frame, "ptsNs" | "captureNs"> | null = null;

  read({ ptsNs, captureNs, discontinuity }: Pick<Frame, "ptsNs" | "captureNs" | "discontinuity">): bigint {
    if (this.#last !== null) {
      const worldNs = captureNs - this.#last.captureNs;
      if (ptsNs === null || this.#last.ptsNs === null) this.#timeNs += worldNs > 0n ? worldNs : 0n;
      else {
        const streamNs = ptsNs - this.#last.ptsNs;
        this.#timeNs += discontinuity && worldNs > streamNs ? worldNs : streamNs;
      }
    }
    this.#last = { ptsNs, captureNs };
    return this.#timeNs;
  }

  restart(): void {
    this.#last = null;
  }
}
