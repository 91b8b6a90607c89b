/** Scores as one picture: the curves of all sequences, then the objects of each over time. */

import { label, line, page } from "../../../cli/svg.ts";
import type { MotScores, SequenceScores } from "../metrics/score-mot.ts";
import { CURVES, drawCurves } from "./curves.ts";
import { drawTimeline, TIMELINE_LEGEND } from "./timeline.ts";

const WIDTH = 1000;
const MOST_ABREAST = 3;
const PANEL_HEIGHT = 220;
const LEGEND = 34;

export function drawScores(sequences: readonly SequenceScores[], combined: MotScores): string {
  const all = sequences.length === 1 ? sequences : [{ ...combined, name: "combined" }, ...sequences];
  const abreast = Math.min(MOST_ABREAST, all.length);
  const panel = { width: WIDTH / abreast, height: PANEL_HEIGHT };
  const panels = all.flatMap(({ name, hota, detA, assA, curves }, index) =>
    drawCurves(`${name}: ${[hota, detA, assA].map((share) => (share * 100).toFixed(1)).join(" / ")}`, curves, {
      ...panel,
      x: (index % abreast) * panel.width,
      y: LEGEND + Math.floor(index / abreast) * panel.height,
    }),
  );
  let y = LEGEND + Math.ceil(all.length / abreast) * panel.height + 24;
  const legend = label(30, y - 6, TIMELINE_LEGEND, { size: 10 });
  const timelines = sequences.flatMap((scores) => {
    const { marks, height } = drawTimeline(scores, y, WIDTH);
    y += height + 8;
    return marks;
  });
  return page(WIDTH, y, [...drawLegend(), ...panels, legend, ...timelines]);
}

const drawLegend = (): readonly string[] => [
  ...CURVES.flatMap(({ name, colour, width }, index) => [
    line(30 + index * 80, 18, 52 + index * 80, 18, colour, width),
    label(58 + index * 80, 22, name),
  ]),
  label(30 + CURVES.length * 80, 22, "in percent over the overlap that a match must have; titles give their means", {
    size: 10,
  }),
];
