/** Elements that take down what a graph finds in every frame, and change nothing of it. */
import { Type } from "typebox";
import { type AnyElement, defineElement, type Frame } from "../../../elements/element.ts";
import type { Detection, Detections, Track, Tracks } from "../../../schemas/detections.ts";

/** Precision is measured over all that a model is at all inclined to say. */
export const LEAST_CONFIDENCE = 0.01;

export interface WatchedFrame {
  readonly width: number;
  readonly height: number;
  /** Down to `LEAST_CONFIDENCE`. */
  readonly detections: readonly Detection[];
  readonly tracks: readonly Track[];
}

export const AFTER_DETECT = "watch-detections";
export const AFTER_TRACK = "watch-tracks";

export class Watch {
  readonly #seen: (readonly Detection[])[] = [];
  readonly frames: WatchedFrame[] = [];
  /** When the first frame came by, and the last. */
  firstMs = 0;
  lastMs = 0;
  readonly elements: readonly AnyElement[];

  /**
   * `weak` is what the model's card says. Detections below it are taken down and then taken out: the tracker is to get
   * what it would get without being watched.
   */
  constructor(weak: number, onFrame: (count: number) => void) {
    this.elements = [
      observe(AFTER_DETECT, ["detections"], ["detections"], (frame) => {
        if (this.#seen.length === 0) this.firstMs = performance.now();
        const detections = frame.meta.detections as Detections;
        const all = [...detections.objects, ...detections.weak];
        this.#seen.push(all.filter(({ confidence }) => confidence >= LEAST_CONFIDENCE));
        frame.write({
          detections: { ...detections, weak: detections.weak.filter(({ confidence }) => confidence >= weak) },
        });
      }),
      observe(AFTER_TRACK, ["tracks"], [], (frame) => {
        const { width, height } = frame.format;
        const tracks = (frame.meta.tracks as Tracks).objects;
        this.frames.push({ width, height, detections: this.#seen[this.frames.length] ?? [], tracks });
        this.lastMs = performance.now();
        onFrame(this.frames.length);
      }),
    ];
  }
}

const observe = (
  name: string,
  reads: readonly string[],
  writes: readonly string[],
  process: (frame: Frame) => void,
): AnyElement =>
  defineElement({
    kind: "transform",
    name,
    about: "Takes down what was found, for an evaluation.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    reads,
    writes,
    create: () => ({ process }),
  });
