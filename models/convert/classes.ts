/** Which outputs of the class head are kept. */
import { COCO } from "../labels.ts";

const COCO_IDS = 90;
/** Ids that COCO never gave to a class, counted from 1. */
const COCO_GAPS = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];
const COCO_OUTPUTS = Array.from({ length: COCO_IDS }, (_, i) => i).filter((i) => !COCO_GAPS.includes(i + 1));

/** Places in the class head, in the order of the labels the converted model will have. */
export function chooseOutputs(headClasses: number, names?: readonly string[]): number[] {
  if (headClasses !== COCO_IDS) {
    if (names === undefined) return Array.from({ length: headClasses }, (_, i) => i);
    throw new Error(
      `classes can be chosen by name for a model of COCO's ${COCO_IDS} ids only; this one has ${headClasses}: ` +
        "convert it with all of them",
    );
  }
  if (names === undefined) return COCO_OUTPUTS;
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (names.length === 0 || twice !== undefined) {
    throw new Error(names.length === 0 ? "at least one class must be kept" : `class "${twice}" is asked for twice`);
  }
  return names.map((name) => {
    const output = COCO_OUTPUTS[COCO.indexOf(name)];
    if (output !== undefined) return output;
    throw new Error(`"${name}" is not one of COCO's classes, which are: ${COCO.join(", ")}`);
  });
}
