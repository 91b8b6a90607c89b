/** Scores as they are shown and as they are handed on: under the names they are published by, in percent. */

import type { Paint } from "../../../cli/text.ts";
import { alignTable } from "../../../cli/text.ts";
import { toPercent } from "../mot/report.ts";
import type { CocoScores } from "./score.ts";

const percent = (share: number | null): string => (share === null ? "–" : (share * 100).toFixed(1));

/** All classes, those with the most objects first, and their mean. */
export function formatScores(model: string, scores: CocoScores, paint: Paint): string {
  const means = alignTable(
    ["", "AP", "AP50", "AP75", "AP small", "medium", "large", "AR"],
    [
      [
        model,
        ...[scores.ap, scores.ap50, scores.ap75, scores.small, scores.medium, scores.large, scores.ar].map(percent),
      ],
    ],
    paint,
  );
  const rows = sortClasses(scores).map(({ name, ap, ap50, ap75, objects }) => [
    name,
    ...[ap, ap50, ap75].map(percent),
    String(objects),
  ]);
  return `${means}\n\n${alignTable(["class", "AP", "AP50", "AP75", "objects"], rows, paint)}`;
}

export function toJson(scores: CocoScores): Record<string, unknown> {
  const orNull = (share: number | null): number | null => (share === null ? null : toPercent(share));
  return {
    AP: toPercent(scores.ap),
    AP50: toPercent(scores.ap50),
    AP75: toPercent(scores.ap75),
    APsmall: orNull(scores.small),
    APmedium: orNull(scores.medium),
    APlarge: orNull(scores.large),
    AR: toPercent(scores.ar),
    classes: sortClasses(scores).map(({ name, ap, ap50, ap75, objects }) => ({
      ...{ name, AP: toPercent(ap), AP50: toPercent(ap50), AP75: toPercent(ap75), objects },
    })),
  };
}

export const sortClasses = ({ classes }: CocoScores): CocoScores["classes"] =>
  [...classes].sort((a, b) => b.objects - a.objects || a.name.localeCompare(b.name));
