/** What became of every object over time: a row each, coloured by the track it was matched with. */
import type { SequenceScores } from "../metrics/score-mot.ts";
import { bar, COLOURS, FAINT, INK, label, line } from "./svg.ts";

const ROW = 9;
const HEAD = 34;
const FOOT = 22;
const MARGIN_LEFT = 60;
const MARGIN_RIGHT = 10;

/** Frames in a row in which an object was matched with the same track, or with none (-1). */
export interface Run {
  readonly track: number;
  /** From 0. */
  readonly first: number;
  readonly last: number;
}

/** The runs of every object, by its number. Where an object is not in the picture there is no run. */
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

export function drawTimeline(
  scores: SequenceScores,
  y: number,
  width: number,
): { readonly marks: readonly string[]; readonly height: number } {
  const { name, comparison, switches } = scores;
  const frames = comparison.frames.length;
  const across = (frame: number): number => MARGIN_LEFT + (frame / frames) * (width - MARGIN_LEFT - MARGIN_RIGHT);
  const rows = findRuns(scores)
    .map((runs, object) => ({ id: comparison.objectIds[object] as number, runs }))
    .sort((a, b) => (a.runs[0]?.first ?? 0) - (b.runs[0]?.first ?? 0) || a.id - b.id);
  const top = y + HEAD;
  const bottom = top + rows.length * ROW;
  const marks = rows.flatMap(({ id, runs }, index) =>
    drawRow(id, runs, comparison.trackIds, top + index * ROW, across),
  );
  const title = `${name}: ${rows.length} objects, ${switches} id switches`;
  const scale = [0, 0.25, 0.5, 0.75, 1].map((part) =>
    label(across(part * frames), bottom + 13, String(Math.max(1, Math.round(part * frames))), {
      size: 9,
      anchor: part === 1 ? "end" : "middle",
    }),
  );
  return {
    marks: [
      label(MARGIN_LEFT, y + 14, title, { bold: true }),
      label(MARGIN_LEFT - 6, y + 28, "object", { size: 9, anchor: "end" }),
      label(
        MARGIN_LEFT,
        y + 28,
        "frame by frame; a colour is a track, thin grey is not found, black marks are id switches",
        {
          size: 9,
        },
      ),
      ...marks,
      ...scale,
    ],
    height: HEAD + rows.length * ROW + FOOT,
  };
}

function drawRow(
  id: number,
  runs: readonly Run[],
  trackIds: readonly number[],
  y: number,
  across: (frame: number) => number,
): readonly string[] {
  let last = -1;
  const marks = runs.flatMap(({ track, first, last: end }) => {
    const [x, length] = [across(first), across(end + 1) - across(first)];
    const when = first === end ? `frame ${first + 1}` : `frames ${first + 1} to ${end + 1}`;
    if (track === -1) return [bar(x, y + ROW / 2 - 1, length, 1.5, "#b0b0b0", `object ${id} not found, ${when}`)];
    const hasSwitched = last !== -1 && last !== track;
    last = track;
    const colour = COLOURS[track % COLOURS.length] as string;
    const drawn = bar(x, y + 1, length, ROW - 2, colour, `object ${id} as track ${trackIds[track]}, ${when}`);
    return hasSwitched ? [drawn, line(x, y, x, y + ROW, INK, 1.5)] : [drawn];
  });
  return [
    line(across(0), y + ROW, across((runs.at(-1)?.last ?? 0) + 1), y + ROW, FAINT, 0.3),
    label(MARGIN_LEFT - 6, y + ROW - 1.5, String(id), { size: 8, anchor: "end" }),
    ...marks,
  ];
}
