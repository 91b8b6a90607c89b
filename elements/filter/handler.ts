import { FrameExpression } from "../../expressions/evaluate.ts";
import type { Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { NodeVariables } from "../../schemas/expression.ts";
import type { Place, Places } from "../../schemas/places.ts";
import type { Frame, Handler } from "../element.ts";

interface FilterProperties {
  readonly where: string;
}

/** Rewrites `detections`, `tracks` and `places`, each only if an object of it is dropped. */
export class FilterHandler implements Pick<Handler, "process"> {
  readonly #variables: NodeVariables | undefined;
  #where: FrameExpression;

  constructor({ where }: FilterProperties, variables: NodeVariables | undefined) {
    this.#variables = variables;
    this.#where = this.#compile(where);
  }

  process(frame: Pick<Frame, "meta" | "format" | "write">): undefined {
    const tracks = frame.meta.tracks as Tracks | undefined;
    const detections = frame.meta.detections as Detections | undefined;
    const places = frame.meta.places as Places | undefined;
    // Places belong to the tracks, or without tracking to the detections.
    const located = tracks === undefined ? places : undefined;
    if (detections !== undefined) {
      const objects = this.#keep(detections.objects, located?.objects, frame);
      const weak = this.#keep(detections.weak, undefined, frame);
      if (objects !== null || weak !== null)
        frame.write({
          detections: {
            ...detections,
            objects: pick(detections.objects, objects),
            weak: pick(detections.weak, weak),
          },
          ...(located !== undefined && { places: { ...located, objects: pick(located.objects, objects) } }),
        });
    }
    if (tracks === undefined) return;
    const kept = this.#keep(tracks.objects, places?.objects, frame);
    if (kept === null) return;
    frame.write({
      tracks: { ...tracks, objects: pick(tracks.objects, kept) },
      ...(places !== undefined && { places: { ...places, objects: pick(places.objects, kept) } }),
    });
  }

  update({ where }: FilterProperties): void {
    this.#where = this.#compile(where);
  }

  #compile(where: string): FrameExpression {
    return new FrameExpression(where, { scope: "object", variables: this.#variables, result: "bool" });
  }

  /** Indices of the objects to keep; null for all. */
  #keep(
    objects: readonly (Detection | Track)[],
    places: readonly (Place | null)[] | undefined,
    frame: Pick<Frame, "meta" | "format">,
  ): readonly number[] | null {
    const kept: number[] = [];
    for (const [index, object] of objects.entries())
      if (this.#where.evaluate(object, places?.[index] ?? null, frame) === true) kept.push(index);
    return kept.length === objects.length ? null : kept;
  }
}

const pick = <T>(items: readonly T[], kept: readonly number[] | null): T[] =>
  kept === null ? [...items] : kept.flatMap((index) => (index < items.length ? [items[index] as T] : []));
