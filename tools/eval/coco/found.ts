import type { Detection } from "../../../schemas/detections.ts";
import type { Picture } from "./dataset.ts";
import type { FoundObject } from "./match.ts";
import type { Found } from "./score.ts";

/** Detections of a picture by class, in its pixels. */
export function groupByClass(
  detections: readonly Detection[],
  { width, height }: Pick<Picture, "width" | "height">,
): Found {
  const found = new Map<string, FoundObject[]>();
  for (const { className, confidence, box } of detections) {
    const ofClass = found.get(className) ?? [];
    ofClass.push({ score: confidence, box: [box[0] * width, box[1] * height, box[2] * width, box[3] * height] });
    found.set(className, ofClass);
  }
  return found;
}
