import { scaleOf } from "./box-orders.ts";
import { numberLabels } from "./class-numbers.ts";
import type { Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import { decodeListed } from "./listed.ts";
import type { BoxOrder, BoxUnits, Numbering } from "./options.ts";
import { findListed, findRole } from "./roles.ts";
import { decodeScored } from "./scored.ts";
import { fitsShape, isFloat, isKnown } from "./tensors.ts";

interface Habit {
  readonly order: BoxOrder;
  readonly units: BoxUnits;
  readonly numbering: Numbering;
}

/** Names that TensorFlow gives, or leaves where the real ones got lost. */
const TENSORFLOW = /detection_boxes|StatefulPartitionedCall|Identity|PostProcess/i;
const COCO_NUMBERS = 91;

/** How whoever exported the model is used to list boxes. The card may say otherwise. */
function guessHabit({ name, shape }: TensorInfo, { isCoco }: Fitting): Habit {
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
    const { order, units, numbering } = guessHabit(found.boxes, fitting);
    return decodeListed({
      ...{ boxes: found.boxes.name, scores: found.scores.name, classes: found.classes.name },
      ...(found.count === undefined ? {} : { count: found.count.name }),
      ...{ isBatched: found.isBatched, order: options.boxes ?? order, scale: scaleOf(options.units ?? units, input) },
      labels: numberLabels(options.numbering ?? numbering, classCount),
    });
  },
};

/** Anchors before suppression, boxes decoded. */
const asScores: Reading = {
  expects: ({ classCount }) =>
    `boxes float32 [1, N, 4] in fractions and scores float32 [1, N, ${classCount + 1}] with the background first, or [1, N, ${classCount}]`,
  fit(fitting) {
    const { outputs, options, input, classCount, isCoco } = fitting;
    const floats = outputs.filter((tensor) => isFloat(tensor) && tensor.shape.length === 3);
    const boxes = findRole(
      fitting,
      "boxes",
      floats.filter((tensor) => fitsShape(tensor, [1, null, 4], fitting)),
    );
    const scores = findRole(
      fitting,
      "scores",
      floats.filter((tensor) => tensor !== boxes),
    );
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
