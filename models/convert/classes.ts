/** Which outputs of the class head are kept. */
import { COCO } from "../labels.ts";

const COCO_IDS = 90;
/** Ids that COCO never gave to a class, counted from 1. */
const COCO_GAPS = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];

export interface KeptClasses {
  /** What the class head was trained for: the 80 of COCO, or its own in the order of its outputs. */
  readonly labels: "coco" | readonly string[];
  /** Labels to keep, in this order; all without it. */
  readonly classes?: readonly string[];
}

/** Places in the class head, in the order of the labels the converted model will have. */
export function chooseOutputs(headClasses: number, { labels, classes }: KeptClasses): number[] {
  const places = placeLabels(headClasses, labels);
  if (classes === undefined) return places;
  const twice = classes.find((name, i) => classes.indexOf(name) !== i);
  if (classes.length === 0 || twice !== undefined) {
    throw new Error(classes.length === 0 ? "at least one class must be kept" : `class "${twice}" is asked for twice`);
  }
  const known = labels === "coco" ? COCO : labels;
  return classes.map((name) => {
    const place = places[known.indexOf(name)];
    if (place !== undefined) return place;
    throw new Error(`"${name}" is not one of the model's classes, which are: ${known.join(", ")}`);
  });
}

/** Where in the head each label is. Throws where the head has another number of classes. */
function placeLabels(headClasses: number, labels: KeptClasses["labels"]): number[] {
  const all = Array.from({ length: headClasses }, (_, i) => i);
  if (labels !== "coco") {
    if (headClasses === labels.length) return all;
    throw new Error(
      `the model tells ${headClasses} classes apart, but ${labels.length} labels are given: give ${headClasses}, in the order the model was trained with`,
    );
  }
  if (headClasses === COCO_IDS) return all.filter((i) => !COCO_GAPS.includes(i + 1));
  if (headClasses === COCO.length) return all;
  throw new Error(
    `the model tells ${headClasses} classes apart, which are not those of COCO (${COCO_IDS} ids or ${COCO.length} classes): give its own labels as a list of ${headClasses}, in the order it was trained with`,
  );
}
