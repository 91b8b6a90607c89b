/** Plots MOT scores as SVG: the curves of all sequences, then the tracks of every object over time. */
import { bar, COLOURS, FAINT, INK, label, line, page, path } from "../../../cli/svg.ts";
import { ALPHAS, type HotaCurves } from "../metrics/hota.ts";
import type { MotScores, SequenceScores } from "../metrics/score-mot.ts";

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
  label(30 + CURVES.length * 80, 22, "in percent over the overlap threshold; titles show the means", {
    size: 10,
  }),
];

/** HOTA, DetA and AssA over the overlap threshold. */
export const CURVES = [
  { name: "HOTA", key: "hota", colour: INK, width: 2.5 },
  { name: "DetA", key: "detA", colour: COLOURS[0], width: 1.5 },
  { name: "AssA", key: "assA", colour: COLOURS[1], width: 1.5 },
] as const;

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A panel with its title, axes and curves. */
export function drawCurves(title: string, curves: HotaCurves, { x, y, width, height }: Place): readonly string[] {
  const left = x + 30;
  const top = y + 22;
  const right = x + width - 10;
  const bottom = y + height - 20;
  const acrossOf = (alpha: number): number => left + alpha * (right - left);
  const upOf = (share: number): number => bottom - share * (bottom - top);
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    line(left, upOf(share), right, upOf(share), FAINT),
    line(acrossOf(share), top, acrossOf(share), bottom, FAINT),
    label(left - 5, upOf(share) + 3.5, String(share * 100), { size: 9, anchor: "end" }),
    label(acrossOf(share), bottom + 12, String(share), { size: 9, anchor: "middle" }),
  ]);
  const drawn = [...CURVES].reverse().map(({ key, colour, width: stroke }) =>
    path(
      curves[key].map((share, index) => [acrossOf(ALPHAS[index] as number), upOf(share)]),
      colour,
      stroke,
    ),
  );
  return [label(left, y + 13, title, { bold: true }), ...grid, ...drawn];
}

const ROW = 9;
const HEAD = 34;
const FOOT = 22;
const MARGIN_LEFT = 60;
const MARGIN_RIGHT = 10;
const NOT_FOUND = "#b0b0b0";

export const TIMELINE_LEGEND =
  "A row is an object, a colour a track; thin grey is not found, black marks are id switches.";

interface Axis {
  across(frame: number): number;
  colourOf(track: number): string;
  idOf(track: number): number;
}

export function drawTimeline(
  scores: SequenceScores,
  y: number,
  width: number,
): { readonly marks: readonly string[]; readonly height: number } {
  const { name, switches, comparison } = scores;
  const { objectIds, trackIds } = comparison;
  const frames = comparison.frames.length;
  const runs = findRuns(scores);
  const colours = colourTracks(runs, trackIds.length, COLOURS.length);
  const axis: Axis = {
    across: (frame) => MARGIN_LEFT + (frame / frames) * (width - MARGIN_LEFT - MARGIN_RIGHT),
    colourOf: (track) => COLOURS[colours[track] as number] as string,
    idOf: (track) => trackIds[track] as number,
  };
  const rows = runs
    .map((ofObject, object) => ({ id: objectIds[object] as number, runs: ofObject }))
    .sort((a, b) => (a.runs[0]?.first ?? 0) - (b.runs[0]?.first ?? 0) || a.id - b.id);
  const bottom = y + HEAD + rows.length * ROW;
  return {
    marks: [
      label(MARGIN_LEFT, y + 14, describe(name, rows.length, switches), { bold: true }),
      label(MARGIN_LEFT - 6, y + 28, "object", { size: 9, anchor: "end" }),
      ...drawScale(frames, y + HEAD, bottom, axis),
      ...rows.flatMap(({ id, runs: ofObject }, index) => drawRow(id, ofObject, y + HEAD + index * ROW, axis)),
    ],
    height: HEAD + rows.length * ROW + FOOT,
  };
}

function drawRow(id: number, runs: readonly Run[], y: number, { across, colourOf, idOf }: Axis): readonly string[] {
  let before = -1;
  const marks = runs.flatMap(({ track, first, last }) => {
    const [x, length] = [across(first), across(last + 1) - across(first)];
    const when = first === last ? `frame ${first + 1}` : `frames ${first + 1} to ${last + 1}`;
    if (track === -1) return [bar(x, y + ROW / 2 - 1, length, 1.5, NOT_FOUND, `object ${id} not found, ${when}`)];
    const hasSwitched = before !== -1 && before !== track;
    before = track;
    const drawn = bar(x, y + 1, length, ROW - 2, colourOf(track), `object ${id} as track ${idOf(track)}, ${when}`);
    return hasSwitched ? [drawn, line(x, y, x, y + ROW, INK, 1.5)] : [drawn];
  });
  return [
    line(across(0), y + ROW, across((runs.at(-1)?.last ?? 0) + 1), y + ROW, FAINT, 0.3),
    label(MARGIN_LEFT - 6, y + ROW - 1.5, String(id), { size: 8, anchor: "end" }),
    ...marks,
  ];
}

const describe = (name: string, objects: number, switches: number): string =>
  `${name}: ${objects} ${objects === 1 ? "object" : "objects"}, ${switches} id ${switches === 1 ? "switch" : "switches"}`;

/** Frames are numbered from 1, as in the files. */
function drawScale(frames: number, top: number, bottom: number, { across }: Axis): readonly string[] {
  const marks = listTicks(frames).flatMap((frame) => [
    line(across(frame - 1), top, across(frame - 1), bottom, FAINT),
    label(across(frame - 1), bottom + 13, String(frame), { size: 9, anchor: "middle" }),
  ]);
  return [label(MARGIN_LEFT - 6, bottom + 13, "frame", { size: 9, anchor: "end" }), ...marks];
}

const MOST_TICKS = 12;

/** The first, and round numbers up to the last. */
export function listTicks(frames: number): readonly number[] {
  const scale = 10 ** Math.floor(Math.log10(frames / MOST_TICKS));
  const steps = [1, 2, 5, 10].map((factor) => Math.max(1, factor * scale));
  const step = steps.find((candidate) => frames / candidate <= MOST_TICKS) ?? frames;
  const rounded = Array.from({ length: Math.floor(frames / step) }, (_, index) => (index + 1) * step);
  return rounded[0] === 1 ? rounded : [1, ...rounded];
}

/** Consecutive frames in which an object was matched with the same track, or with none (-1). */
export interface Run {
  readonly track: number;
  /** From 0. */
  readonly first: number;
  readonly last: number;
}

/** The runs of every object, by its number; none while it is not in the frame. */
export function findRuns({
  comparison,
  matches,
}: Pick<SequenceScores, "comparison" | "matches">): readonly (readonly Run[])[] {
  const runs: Run[][] = comparison.objectIds.map(() => []);
  for (const [frame, { objects }] of comparison.frames.entries())
    for (const [row, object] of objects.entries()) {
      const track = matches[frame]?.[row] ?? -1;
      const ofObject = runs[object] as Run[];
      const latest = ofObject.at(-1);
      if (latest !== undefined && latest.track === track && latest.last === frame - 1)
        ofObject[ofObject.length - 1] = { ...latest, last: frame };
      else ofObject.push({ track, first: frame, last: frame });
    }
  return runs;
}

/**
 * Colours the tracks: those that follow one another on an object differ, so that a switch is visible, unless one track has
 * switched with more others than there are colours.
 */
export function colourTracks(runs: readonly (readonly Run[])[], trackCount: number, count: number): Int32Array {
  const neighbours: Set<number>[] = Array.from({ length: trackCount }, () => new Set());
  for (const ofObject of runs) {
    const tracks = ofObject.map(({ track }) => track).filter((track) => track !== -1);
    for (const [index, track] of tracks.entries()) {
      const next = tracks[index + 1];
      if (next === undefined || next === track) continue;
      neighbours[track]?.add(next);
      neighbours[next]?.add(track);
    }
  }
  const colours = new Int32Array(trackCount).fill(-1);
  for (const [track, beside] of neighbours.entries()) {
    const taken = new Set([...beside].map((other) => colours[other]));
    const wanted = Array.from({ length: count }, (_, step) => (track + step) % count);
    colours[track] = wanted.find((colour) => !taken.has(colour)) ?? track % count;
  }
  return colours;
}
