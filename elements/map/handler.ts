import { type EvaluatedFrame, FrameExpression } from "../../expressions/evaluate.ts";
import type { Detection, Detections, Track, Tracks, Values } from "../../schemas/detections.ts";
import type { ExpressionScope, NodeVariables } from "../../schemas/expression.ts";
import type { Place, Places } from "../../schemas/places.ts";
import type { Frame, Handler } from "../element.ts";

interface MapProperties {
  readonly set: Readonly<Record<string, string>>;
  readonly frame: Readonly<Record<string, string>>;
}

/** Adds `values` to the objects of `tracks`, or without tracking of `detections`, and to the frame. */
export class MapHandler implements Handler {
  readonly #object: readonly NamedExpression[];
  readonly #frame: readonly NamedExpression[];

  constructor({ set, frame }: MapProperties, variables: NodeVariables | undefined) {
    this.#object = compileAll(set, "object", variables);
    this.#frame = compileAll(frame, "frame", variables);
  }

  process(frame: Pick<Frame, "meta" | "format" | "write">): undefined {
    const { tracks, detections, places, values } = frame.meta as {
      readonly tracks?: Tracks;
      readonly detections?: Detections;
      readonly places?: Places;
      readonly values?: Values;
    };
    if (this.#object.length > 0) {
      const add = <T extends Detection | Track>(object: T, index: number): T => ({
        ...object,
        values: { ...object.values, ...evaluateAll(this.#object, object, places?.objects[index] ?? null, frame) },
      });
      if (tracks !== undefined) frame.write({ tracks: { ...tracks, objects: tracks.objects.map(add) } });
      else if (detections !== undefined)
        frame.write({ detections: { ...detections, objects: detections.objects.map(add) } });
    }
    if (this.#frame.length > 0) frame.write({ values: { ...values, ...evaluateAll(this.#frame, null, null, frame) } });
  }
}

type NamedExpression = readonly [name: string, expression: FrameExpression];

const compileAll = (
  texts: Readonly<Record<string, string>>,
  scope: ExpressionScope,
  variables: NodeVariables | undefined,
): readonly NamedExpression[] =>
  Object.entries(texts).map(([name, text]) => [name, new FrameExpression(text, { scope, variables })]);

function evaluateAll(
  expressions: readonly NamedExpression[],
  object: Detection | Track | null,
  place: Place | null,
  frame: EvaluatedFrame,
): Values {
  const values: Values = {};
  for (const [name, expression] of expressions) {
    const value = expression.evaluate(object, place, frame);
    // JSON has neither NaN nor infinite numbers.
    values[name] = typeof value === "number" && !Number.isFinite(value) ? null : value;
  }
  return values;
}
