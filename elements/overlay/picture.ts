/** Converts the objects of a frame to shapes: trails, then boxes, then labels on top. */
import type { Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { Frame, Shape } from "../element.ts";
import {
  chooseSizes,
  colourOf,
  inkOn,
  type LabelPart,
  LabelRoom,
  measure,
  type Rectangle,
  type Sizes,
  writeLabels,
} from "./label.ts";
import { Trail } from "./trail.ts";

export interface OverlayProperties {
  readonly labels: readonly LabelPart[];
  readonly trails: number;
  readonly classes: readonly string[];
  readonly opacity: number;
}

type OverlayFrame = Pick<Frame, "captureNs" | "discontinuity" | "format" | "meta">;

const RIM_OPACITY = 0.4;

interface Shown {
  readonly object: Detection | Track;
  readonly box: Rectangle;
  readonly colour: number;
  /** For objects with an id. */
  readonly known: ObjectState | null;
}

export class Picture {
  properties: OverlayProperties;
  readonly #memory = new Memory();
  #crowded = false;

  constructor(properties: OverlayProperties) {
    this.properties = properties;
  }

  forget(): void {
    this.#memory.clear();
  }

  /** Number of objects with state. */
  get remembered(): number {
    return this.#memory.size;
  }

  draw({ captureNs, discontinuity, format, meta }: OverlayFrame): Shape[] {
    if (discontinuity) this.#memory.clear();
    const found = (meta.tracks ?? meta.detections) as Tracks | Detections | undefined;
    if (found === undefined) return [];
    const nowMs = Number(captureNs / 1000n) / 1000;
    const { classes, trails } = this.properties;
    const wanted: readonly (Detection | Track)[] =
      classes.length === 0 ? found.objects : found.objects.filter(({ className }) => classes.includes(className));
    const shown = wanted.map((object) => this.#show(object, format, nowMs, found.inferred));
    this.#memory.forget("ended" in found ? found.ended : [], nowMs, trails * 1000);
    const sizes = chooseSizes(format);
    const shapes: Shape[] = [];
    if (trails > 0) for (const one of shown) this.#drawTrail(one, format, sizes, shapes);
    for (const one of shown) this.#drawBox(one, sizes, shapes);
    this.#drawLabels(shown, format, sizes, shapes);
    return shapes;
  }

  #show(object: Detection | Track, { width, height }: Frame["format"], nowMs: number, inferred: boolean): Shown {
    const [x, y, wide, high] = object.box;
    const known = "id" in object ? this.#memory.recall(object.id, nowMs) : null;
    // Between two inferences every box is predicted: do not let boxes flicker.
    if (known !== null && inferred && "predicted" in object) known.lost = object.predicted;
    if (this.properties.trails > 0) known?.trail.add(nowMs, x + wide / 2, y + high, this.properties.trails * 1000);
    const box = toEven({ x: x * width, y: y * height, width: wide * width, height: high * height });
    return { object, box, colour: colourOf(object.classId), known };
  }

  #drawTrail({ box, colour, known }: Shown, format: Frame["format"], sizes: Sizes, onto: Shape[]): void {
    const foot = [box.x + box.width / 2, box.y + box.height] as const;
    const points = known?.trail.trace(format, foot, sizes.stillness, sizes.trail / 5) ?? null;
    if (points === null) return;
    onto.push({ kind: "line", points, colour, thickness: sizes.trail, opacity: this.properties.opacity, start: 0 });
  }

  #drawBox({ box: { x, y, width, height }, colour, known }: Shown, sizes: Sizes, onto: Shape[]): void {
    const { opacity } = this.properties;
    const { rim } = sizes;
    if (known?.lost === true) {
      onto.push({ kind: "box", x, y, width, height, colour, thickness: sizes.lost, dash: sizes.dash, opacity });
      return;
    }
    const outside = { x: x - rim, y: y - rim, width: width + 2 * rim, height: height + 2 * rim };
    onto.push(
      { kind: "box", ...outside, colour: 0, thickness: sizes.box + 2 * rim, opacity: opacity * RIM_OPACITY },
      { kind: "box", x, y, width, height, colour, thickness: sizes.box, opacity },
    );
  }

  /** Objects have a stable order, by id or confidence, so that the same labels find room in every frame. */
  #drawLabels(shown: readonly Shown[], format: Frame["format"], sizes: Sizes, onto: Shape[]): void {
    const { labels, opacity } = this.properties;
    const room = new LabelRoom(format);
    const texts = shown.map(({ object }) => writeLabels(object, labels));
    this.#crowded = isCrowded(texts, format, sizes, this.#crowded);
    for (const [i, { box, colour, known }] of shown.entries()) {
      const choice = texts[i] ?? [];
      for (const text of this.#crowded ? choice.slice(-1) : choice) {
        const at = room.take(box, measure(text, sizes), sizes.line, known?.place);
        if (at === null) continue;
        if (known !== null) known.place = at.place;
        const { x, y } = at;
        onto.push({ kind: "text", x, y, text, size: sizes.text, colour: inkOn(colour), background: colour, opacity });
        break;
      }
    }
  }
}

/** Labels would cover too much of the frame. With hysteresis. */
function isCrowded(
  texts: readonly (readonly string[])[],
  format: Frame["format"],
  sizes: Sizes,
  was: boolean,
): boolean {
  const wide = texts.reduce((sum, [full = ""]) => sum + measure(full, sizes), 0);
  return wide * sizes.line > format.width * format.height * (was ? 0.15 : 0.2);
}

/** Rounds outwards to even pixels, as the drawing kernel does for coloured boxes, so that labels align with them. */
function toEven({ x, y, width, height }: Rectangle): Rectangle {
  const left = Math.floor(Math.round(x) / 2) * 2;
  const top = Math.floor(Math.round(y) / 2) * 2;
  const right = Math.ceil(Math.round(x + width) / 2) * 2;
  const bottom = Math.ceil(Math.round(y + height) / 2) * 2;
  return { x: left, y: top, width: right - left, height: bottom - top };
}

interface ObjectState {
  readonly trail: Trail;
  /** Inference missed it: the box is predicted. */
  lost: boolean;
  /** Position of its label, to keep it stable. */
  place: number;
  seenMs: number;
}

const MIN_KEPT_MS = 1000;

/** State of recent objects by id, bounded by the number of objects seen in that time. */
class Memory {
  readonly #objects = new Map<number, ObjectState>();

  recall(id: number, nowMs: number): ObjectState {
    let object = this.#objects.get(id);
    if (object === undefined) {
      object = { trail: new Trail(), lost: false, place: 0, seenMs: nowMs };
      this.#objects.set(id, object);
    }
    object.seenMs = nowMs;
    return object;
  }

  /** Removes ended ids, and those not seen for longer than a trail. */
  forget(ended: readonly number[], nowMs: number, trailMs: number): void {
    for (const id of ended) this.#objects.delete(id);
    const oldestMs = nowMs - Math.max(trailMs, MIN_KEPT_MS);
    for (const [id, { seenMs }] of this.#objects) {
      if (seenMs < oldestMs || seenMs > nowMs) this.#objects.delete(id);
    }
  }

  /** The stream jumped. */
  clear(): void {
    this.#objects.clear();
  }

  get size(): number {
    return this.#objects.size;
  }
}
