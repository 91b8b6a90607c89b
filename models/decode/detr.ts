import { scaleOf } from "./candidates.ts";
import type { Family, Fitting, Reading } from "./decoder.ts";
import { decodeListed, decodeScored, decodeWideRows, numberLabels } from "./layouts.ts";
import type { Numbering, ScoreKind } from "./options.ts";
import { findFloats, findListed, findRole, fitsShape, isKnown, splitBoxes } from "./tensors.ts";

interface Columns {
  readonly columns: number;
  readonly kind: ScoreKind;
  readonly numbering: Numbering;
}

/** The meaning of a number of logits. COCO's category ids are 91 with the unused 0. */
function listColumns({ classCount, isCoco }: Fitting): readonly Columns[] {
  return [
    { columns: classCount, kind: "sigmoid", numbering: "labels" },
    { columns: classCount + 1, kind: "softmax", numbering: "labels" },
    ...(isCoco
      ? ([
          { columns: 91, kind: "sigmoid", numbering: "coco-90" },
          { columns: 92, kind: "softmax", numbering: "coco-90" },
        ] as const)
      : []),
  ];
}

/** RT-DETR, D-FINE, RF-DETR and DETR as they are trained: one row per query. */
const asLogits: Reading = {
  expects: (fitting) => {
    const sizes = listColumns(fitting).map(({ columns, kind }) => `${columns} (${kind})`);
    return `boxes float32 [1, Q, 4] as centre and size in fractions, and logits float32 [1, Q, L], L being ${sizes.join(" or ")}`;
  },
  fit(fitting) {
    const { options, input, classCount } = fitting;
    const { boxes, others } = splitBoxes(fitting);
    const known = listColumns(fitting);
    const rest = others.filter((tensor) => known.some(({ columns }) => fitsShape(tensor, [1, null, columns], fitting)));
    const logits = findRole(fitting, "scores", rest) ?? (options.outputs?.scores === undefined ? rest[0] : undefined);
    const size = logits?.shape[2];
    if (boxes === undefined || logits === undefined || !isKnown(size)) return null;
    const meaning = known.find(({ columns }) => columns === size);
    if (meaning === undefined) return null;
    const labels = numberLabels(options.numbering ?? meaning.numbering, classCount);
    return decodeScored({
      ...{ boxes: boxes.name, scores: logits.name, columns: size },
      ...{ kind: options.scores ?? meaning.kind, first: 0, end: Math.min(size, labels.length), labels },
      ...{ order: options.boxes ?? "cxcywh", scale: scaleOf(options.units ?? "fractions", input) },
    });
  },
};

/** Exported with their own post-processing. */
const asList: Reading = {
  expects: () => "labels [1, Q], boxes float32 [1, Q, 4] as left, top, right, bottom in pixels, scores float32 [1, Q]",
  fit(fitting) {
    const found = findListed(fitting);
    if (found === null) return null;
    const { options, input, classCount } = fitting;
    return decodeListed(
      { ...found, count: undefined },
      {
        order: options.boxes ?? "ltrb",
        scale: scaleOf(options.units ?? "pixels", input),
        labels: numberLabels(options.numbering ?? "labels", classCount),
      },
    );
  },
};

/** RT-DETR as Ultralytics exports it. */
const inRows: Reading = {
  expects: ({ classCount }) =>
    `one output float32 [1, Q, ${4 + classCount}]: centre and size in fractions, class scores`,
  fit(fitting) {
    const { classCount, options, input } = fitting;
    const output = findFloats(fitting, [1, null, 4 + classCount]);
    if (output === undefined) return null;
    return decodeWideRows(output.name, classCount, scaleOf(options.units ?? "fractions", input));
  },
};

export const detr: Family = {
  options: ["boxes", "units", "scores", "numbering", "outputs"],
  readings: [asLogits, asList, inRows],
};
