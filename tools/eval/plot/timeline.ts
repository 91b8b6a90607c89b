/** What became of every object over time: a row each, coloured by the track it was matched with. */

import { bar, COLOURS, FAINT, INK, label, line } from "../../../cli/svg.ts";
import type { SequenceScores } from "../metrics/score-mot.ts";
import { colourTracks, findRuns, type Run } from "./runs.ts";

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

/** Frames count from 1 here, as they do in the files. */
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
