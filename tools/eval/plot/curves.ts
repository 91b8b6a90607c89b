/** HOTA, DetA and AssA over the overlap that a match must have. */

import { COLOURS, FAINT, INK, label, line, path } from "../../../cli/svg.ts";
import { ALPHAS, type HotaCurves } from "../metrics/hota.ts";

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

/** A panel with its title above and numbers around it, all within the place. */
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
