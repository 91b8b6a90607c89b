/** COCO scores as a table, as JSON and as a plot of precision over recall. */

import { COLOURS, FAINT, INK, label, line, page, path } from "../../../cli/svg.ts";
import { alignTable, type Paint } from "../../../cli/text.ts";
import { toPercent } from "../mot/report.ts";
import { mean, OVERLAPS, RECALLS } from "./match.ts";
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

const WIDTH = 1000;
const ABREAST = 4;
const PANEL = { width: WIDTH / ABREAST, height: 200 };
const HEAD = 34;
const MOST_CLASSES = 23;

/** The plotted overlap thresholds; narrow lines on top, so that none hides another. */
const DRAWN = [
  { overlap: 0.5, colour: COLOURS[0], width: 3.6 },
  { overlap: 0.75, colour: COLOURS[1], width: 2.4 },
  { overlap: 0.9, colour: COLOURS[2], width: 1.2 },
] as const;

interface Panel {
  readonly title: string;
  /** One for each of `OVERLAPS`. */
  readonly curves: readonly ArrayLike<number>[];
}

export function drawPrecisions(title: string, scores: CocoScores): string {
  const classes = sortClasses(scores).slice(0, MOST_CLASSES);
  const panels: readonly Panel[] = [
    { title: `all ${scores.classes.length} classes: ${percent(scores.ap)}`, curves: meanCurves(scores) },
    ...classes.map(({ name, ap, objects, curves }) => ({
      title: `${name} (${objects}): ${percent(ap)}`,
      curves: curves.curves,
    })),
  ];
  const rows = Math.ceil(panels.length / ABREAST);
  return page(WIDTH, HEAD + rows * PANEL.height + 10, [
    ...drawLegend(title),
    ...panels.flatMap((panel, index) =>
      drawPanel(panel, (index % ABREAST) * PANEL.width, HEAD + Math.floor(index / ABREAST) * PANEL.height),
    ),
  ]);
}

const meanCurves = ({ classes }: CocoScores): readonly (readonly number[])[] =>
  OVERLAPS.map((_, step) =>
    Array.from({ length: RECALLS }, (_unused, i) => mean(classes.map(({ curves }) => curves.curves[step]?.[i] ?? 0))),
  );

function drawLegend(title: string): readonly string[] {
  const text = "precision in percent over recall; titles show the number of objects, and AP";
  return [
    label(30, 20, title, { bold: true }),
    label(WIDTH - 630, 20, "overlap", { size: 10, anchor: "end" }),
    ...DRAWN.flatMap(({ overlap, colour, width }, index) => [
      line(WIDTH - 620 + index * 62, 16, WIDTH - 602 + index * 62, 16, colour, width),
      label(WIDTH - 598 + index * 62, 20, overlap.toFixed(2), { size: 10 }),
    ]),
    label(WIDTH - 10, 20, text, { size: 10, anchor: "end" }),
  ];
}

function drawPanel({ title, curves }: Panel, x: number, y: number): readonly string[] {
  const [left, top, right, bottom] = [x + 30, y + 22, x + PANEL.width - 10, y + PANEL.height - 20];
  const acrossOf = (share: number): number => left + share * (right - left);
  const upOf = (share: number): number => bottom - share * (bottom - top);
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    line(left, upOf(share), right, upOf(share), FAINT),
    line(acrossOf(share), top, acrossOf(share), bottom, FAINT),
    label(left - 5, upOf(share) + 3.5, String(share * 100), { size: 9, anchor: "end" }),
    label(acrossOf(share), bottom + 12, String(share), { size: 9, anchor: "middle" }),
  ]);
  const drawn = DRAWN.map(({ overlap, colour, width }) => {
    const points = reachedBy(curves[OVERLAPS.indexOf(overlap)] ?? []);
    return path(
      points.map((precision, i): readonly [number, number] => [acrossOf(i / (RECALLS - 1)), upOf(precision)]),
      colour,
      width,
    );
  });
  return [label(left, y + 13, title, { bold: true, colour: INK }), ...grid, ...drawn];
}

/** The curve up to where it falls to zero. */
function reachedBy(curve: ArrayLike<number>): readonly number[] {
  const all = Array.from(curve);
  const end = all.indexOf(0);
  return end === -1 ? all : end === 0 ? [] : all.slice(0, end + 1);
}
