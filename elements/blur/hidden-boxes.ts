/** Which parts of a frame to hide, from its metadata and those of the frames before it. Pure. */
import type { Box, Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { Frame, Shape } from "../element.ts";

export interface BlurProperties {
  readonly classes?: readonly string[];
  readonly regions: readonly Box[];
  readonly mode: "pixelate" | "blur";
  readonly strength: number;
  readonly padding: number;
  readonly holdMs: number;
}

const MIN_BLOCK = 8;
const WHOLE: Box = [0, 0, 1, 1];
/** Far more than a frame has; the oldest are forgotten first. */
const MAX_HELD = 1000;

interface Held {
  readonly box: Box;
  readonly untilMs: number;
}

type BlurredFrame = Pick<Frame, "captureNs" | "format" | "meta">;

export class HiddenBoxes {
  properties: BlurProperties;
  /** By track id; detections without tracking have negative keys. */
  readonly #held = new Map<number, Held>();
  #isInferred = false;
  #next = -1;

  constructor(properties: BlurProperties) {
    this.properties = properties;
  }

  read({ captureNs, format, meta }: BlurredFrame): Shape[] {
    const { regions, padding, classes } = this.properties;
    const fixed = regions.map((box) => this.#hide(box, format));
    if (classes === undefined && regions.length > 0) return fixed;
    const found = (meta.tracks ?? meta.detections) as Tracks | Detections | undefined;
    this.#isInferred ||= found?.inferred === true;
    // It is not known yet what is in it.
    if (!this.#isInferred) return [this.#hide(WHOLE, format)];
    this.#update(found, Number(captureNs / 1_000_000n));
    return [...fixed, ...[...this.#held.values()].map(({ box }) => this.#hide(pad(box, padding), format))];
  }

  forget(): void {
    this.#held.clear();
    this.#isInferred = false;
  }

  #update(found: Tracks | Detections | undefined, nowMs: number): void {
    const { classes = [], holdMs } = this.properties;
    // Between inferences, which may be longer apart, nothing is known to have gone.
    if (found?.inferred === true)
      for (const [key, { untilMs }] of this.#held)
        if (untilMs < nowMs || untilMs > nowMs + holdMs) this.#held.delete(key);
    const objects: readonly (Detection | Track)[] = found?.objects ?? [];
    for (const object of objects) {
      if (classes.length > 0 && !classes.includes(object.className)) continue;
      const key = "id" in object ? object.id : this.#next--;
      // Last in the map, as the newest.
      this.#held.delete(key);
      this.#held.set(key, { box: object.box, untilMs: nowMs + holdMs });
    }
    for (const key of this.#held.keys()) {
      if (this.#held.size <= MAX_HELD) break;
      this.#held.delete(key);
    }
  }

  #hide([left, top, width, height]: Box, format: Frame["format"]): Shape {
    const { mode, strength } = this.properties;
    const [x, y] = [left * format.width, top * format.height];
    const [wide, high] = [width * format.width, height * format.height];
    const block = Math.max(MIN_BLOCK, strength * Math.min(wide, high));
    return { kind: "hide", x, y, width: wide, height: high, block, smooth: mode === "blur" };
  }
}

const pad = ([left, top, width, height]: Box, padding: number): Box => [
  left - width * padding,
  top - height * padding,
  width * (1 + 2 * padding),
  height * (1 + 2 * padding),
];
