import { numberLabels } from "./class-numbers.ts";
import type { Family } from "./decoder.ts";
import { decodeListed } from "./listed.ts";
import { fitsShape, isFloat } from "./tensors.ts";

/** EfficientDet as Windhover's own conversion makes it: the best anchors are picked inside the network. */
export const efficientdet: Family = {
  options: [],
  isFoundOften: true,
  readings: [
    {
      expects: () =>
        "boxes: float32 [1, K, 4], left, top, right, bottom in pixels; scores: float32 [1, K]; classes: [1, K]",
      fit(fitting) {
        const { outputs, classCount } = fitting;
        const find = (name: string) => outputs.find((tensor) => tensor.name === name);
        const [boxes, scores, classes] = ["boxes", "scores", "classes"].map(find);
        if (boxes === undefined || scores === undefined || classes === undefined) return null;
        const fits =
          isFloat(boxes) &&
          isFloat(scores) &&
          fitsShape(boxes, [1, null, 4], fitting) &&
          [scores, classes].every((tensor) => fitsShape(tensor, [1, null], fitting));
        if (!fits) return null;
        return decodeListed({
          ...{ boxes: "boxes", scores: "scores", classes: "classes", isBatched: true },
          order: "ltrb",
          scale: { x: 1, y: 1 },
          labels: numberLabels("labels", classCount),
        });
      },
    },
  ],
};
