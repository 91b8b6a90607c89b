/** What became of every object over time: a row each, coloured by the track it was matched with. */
import type { SequenceScores } from "../metrics/score-mot.ts";
import { colourTracks, findRuns, type Run } from "./runs.ts";
import { bar, COLOURS, FAINT, INK, label, line } from "./svg.ts";

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
      label(MARGIN_LEFT, y + 14, `${name}: ${rows.length} objects, ${switches} id switches`, { bold: true }),
      label(MARGIN_LEFT - 6, y + 28, "object", { size: 9, anchor: "end" }),
      ...rows.flatMap(({ id, runs: ofObject }, index) => drawRow(id, ofObject, y + HEAD + index * ROW, axis)),
      ...drawScale(frames, bottom + 13, axis),
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

/** Frames count from 1 here, as they do in the files. */
const drawScale = (frames: number, y: number, { across }: Axis): readonly string[] =>
  [0, 0.25, 0.5, 0.75, 1].map((part) =>
    label(across(part * frames), y, String(Math.max(1, Math.round(part * frames))), {
      size: 9,
      anchor: part === 1 ? "end" : "middle",
    }),
  );
