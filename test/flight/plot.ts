/** True and found places seen from above, one panel for each way of joining, and their errors over time below. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { COLOURS, FAINT, INK, label, line, page, path } from "../../cli/svg.ts";
import { errorsOf, type Finding, quantile } from "./judge.ts";

export interface Panel {
  readonly title: string;
  readonly findings: readonly Finding[];
}

const WIDTH = 1000;
const MARGIN = 50;
const GROUND_HIGH = 300;
const ERRORS_HIGH = 120;
const GRID_M = 20;

export function drawPlaces(panels: readonly Panel[]): string {
  const all = panels.flatMap(({ findings }) => findings.flatMap(({ real, found }) => [real, found]));
  const range = (axis: 0 | 1): readonly [number, number] => [
    Math.floor(Math.min(...all.map((place) => place[axis])) / GRID_M) * GRID_M,
    Math.ceil(Math.max(...all.map((place) => place[axis])) / GRID_M) * GRID_M,
  ];
  const bounds = { east: range(0), north: range(1) };
  const highest = quantile(
    panels.flatMap(({ findings }) => errorsOf(findings)),
    0.98,
  );
  const high = GROUND_HIGH + ERRORS_HIGH + 110;
  const marks = panels.flatMap((panel, index) => drawPanel(panel, index * high + 40, bounds, highest));
  return page(WIDTH, panels.length * high + 20, marks);
}

interface Bounds {
  readonly east: readonly [number, number];
  readonly north: readonly [number, number];
}

function drawPanel({ title, findings }: Panel, top: number, { east, north }: Bounds, highest: number): string[] {
  // As long north as east: the plot is a map.
  const scale = Math.min((WIDTH - 2 * MARGIN) / (east[1] - east[0]), GROUND_HIGH / (north[1] - north[0]));
  const at = ([e, n]: readonly [number, number]): readonly [number, number] => [
    MARGIN + (e - east[0]) * scale,
    top + (north[1] - n) * scale,
  ];
  const marks = [label(MARGIN, top - 16, title, { size: 13, bold: true })];
  for (let e = east[0]; e <= east[1]; e += GRID_M) {
    const [x, y] = at([e, north[0]]);
    marks.push(line(x, y, x, at([e, north[1]])[1], FAINT), label(x, y + 14, `${e} m`, { anchor: "middle", size: 10 }));
  }
  for (let n = north[0]; n <= north[1]; n += GRID_M) {
    const [x, y] = at([east[0], n]);
    marks.push(line(x, y, at([east[1], n])[0], y, FAINT), label(x - 6, y + 4, `${n}`, { anchor: "end", size: 10 }));
  }
  for (const { real, found } of findings) {
    const [[x1, y1], [x2, y2]] = [at(real), at(found)];
    marks.push(line(x1, y1, x2, y2, "#bbbbbb", 0.5), dot(x2, y2, 1.6, COLOURS[5]));
  }
  for (const { real } of findings) marks.push(dot(...at(real), 1.3, COLOURS[0]));
  const legend = top - 2;
  marks.push(dot(WIDTH - 170, legend - 4, 3, COLOURS[0]), label(WIDTH - 162, legend, "true"));
  marks.push(dot(WIDTH - 110, legend - 4, 3, COLOURS[5]), label(WIDTH - 102, legend, "found"));
  return [...marks, ...drawErrors(findings, at([east[0], north[0]])[1] + 34, highest)];
}

function drawErrors(findings: readonly Finding[], top: number, highest: number): string[] {
  const times = findings.map(({ seconds }) => seconds);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const x = (seconds: number): number => MARGIN + ((seconds - from) / (to - from || 1)) * (WIDTH - 2 * MARGIN);
  const y = (metres: number): number => top + ERRORS_HIGH * (1 - Math.min(1, metres / highest));
  const median = quantile(errorsOf(findings), 0.5);
  return [
    label(
      MARGIN,
      top - 4,
      `error in metres over the seconds of the flight; the line is the median, ${median.toFixed(2)} m`,
    ),
    line(MARGIN, y(0), WIDTH - MARGIN, y(0), INK),
    label(MARGIN - 6, y(0) + 4, "0", { anchor: "end", size: 10 }),
    label(MARGIN - 6, y(highest) + 8, highest.toFixed(1), { anchor: "end", size: 10 }),
    label(MARGIN, y(0) + 14, `${from.toFixed(1)} s`, { size: 10 }),
    label(WIDTH - MARGIN, y(0) + 14, `${to.toFixed(1)} s`, { anchor: "end", size: 10 }),
    ...findings.map(({ seconds, errorM }) => dot(x(seconds), y(errorM), 1.3, COLOURS[5])),
    path(
      [
        [MARGIN, y(median)],
        [WIDTH - MARGIN, y(median)],
      ],
      COLOURS[0],
      1.5,
    ),
  ];
}

const dot = (x: number, y: number, radius: number, colour: string): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${colour}"/>`;

/** `file` ends in .svg; a PNG comes beside it where the machine can draw one. */
export function writePlot(file: string, panels: readonly Panel[]): void {
  writeFileSync(file, drawPlaces(panels));
  try {
    execFileSync("rsvg-convert", ["-o", file.replace(/\.svg$/, ".png"), file], { stdio: "ignore" });
  } catch {
    // A picture for people, not a result: the SVG is there.
  }
}
