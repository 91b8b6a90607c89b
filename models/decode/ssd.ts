/** Families whose boxes, scores and classes are separate outputs: SSD, and EfficientDet as the converter writes it. */
import { scaleOf } from "./candidates.ts";
import type { Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import { decodeListed, decodeScored, numberLabels } from "./layouts.ts";
import type { BoxOrder, BoxUnits, Numbering } from "./options.ts";
import { findListed, findRole, fitsShape, isFloat, isKnown, splitBoxes } from "./tensors.ts";

interface ExportFormat {
  readonly order: BoxOrder;
  readonly units: BoxUnits;
  readonly numbering: Numbering;
}

/** Names that TensorFlow assigns, also where it has lost the original ones. */
const TENSORFLOW = /detection_boxes|StatefulPartitionedCall|Identity|PostProcess/i;
const COCO_NUMBERS = 91;

/** The box format that the exporter usually writes. The card overrides it. */
function guessFormat({ name, shape }: TensorInfo, { isCoco }: Fitting): ExportFormat {
  const published = isCoco ? "coco-90" : "after-background";
  if (TENSORFLOW.test(name)) return { order: "tlbr", units: "fractions", numbering: published };
  // torchvision drops the batch.
  if (shape.length === 2) return { order: "ltrb", units: "pixels", numbering: published };
  return { order: "ltrb", units: "fractions", numbering: "after-background" };
}

const asList: Reading = {
  expects: () =>
    "detection_boxes float32 [1, N, 4], detection_scores float32 [1, N], detection_classes [1, N], num_detections; or boxes, scores and labels likewise, with or without the batch; other names go into decoder.outputs",
  fit(fitting) {
    const found = findListed(fitting);
    if (found === null) return null;
    const { options, input, classCount } = fitting;
    const { order, units, numbering } = guessFormat(found.boxes, fitting);
    return decodeListed(found, {
      order: options.boxes ?? order,
      scale: scaleOf(options.units ?? units, input),
      labels: numberLabels(options.numbering ?? numbering, classCount),
    });
  },
};

/** Anchors before suppression, boxes decoded. */
const asScores: Reading = {
  expects: ({ classCount }) =>
    `boxes float32 [1, N, 4] in fractions and scores float32 [1, N, ${classCount + 1}] with the background first, or [1, N, ${classCount}]`,
  fit(fitting) {
    const { options, input, classCount, isCoco } = fitting;
    const { boxes, others } = splitBoxes(fitting);
    const scores = findRole(fitting, "scores", others);
    const columns = scores?.shape[2];
    if (boxes === undefined || scores === undefined || !isKnown(columns)) return null;
    const numbering = guessNumbering(columns, classCount, isCoco);
    if (numbering === null) return null;
    const labels = numberLabels(options.numbering ?? numbering, classCount);
    return decodeScored({
      ...{ boxes: boxes.name, scores: scores.name, columns, kind: options.scores ?? "ready" },
      ...{ first: numbering === "labels" ? 0 : 1, end: columns, labels },
      ...{ order: options.boxes ?? "ltrb", scale: scaleOf(options.units ?? "fractions", input) },
    });
  },
};

function guessNumbering(columns: number, classCount: number, isCoco: boolean): Numbering | null {
  if (columns === classCount + 1) return "after-background";
  if (columns === classCount) return "labels";
  return isCoco && columns === COCO_NUMBERS ? "coco-90" : null;
}

export const ssd: Family = {
  options: ["boxes", "units", "scores", "numbering", "outputs"],
  readings: [asList, asScores],
};

/** EfficientDet as Windhover's converter writes it: the network selects its best anchors itself. */
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
        return decodeListed(
          { boxes, scores, classes, isBatched: true },
          { order: "ltrb", scale: { x: 1, y: 1 }, labels: numberLabels("labels", classCount) },
        );
      },
    },
  ],
};
