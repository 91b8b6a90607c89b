/** Scores as a table and as JSON, with their published names, in percent. */

import type { Paint } from "../../../cli/text.ts";
import { alignTable } from "../../../cli/text.ts";
import type { MotScores } from "../metrics/score-mot.ts";

export interface ReportedScores {
  readonly name: string;
  readonly scores: MotScores;
  readonly frames: number;
  /** Of the tracker alone; null for results of another tracker. */
  readonly framesPerSecond: number | null;
}

const percent = (share: number): string => (share * 100).toFixed(1);

type Column = readonly [head: string, format: (scores: MotScores) => string];

const COLUMNS: readonly Column[] = [
  ["HOTA", ({ hota }) => percent(hota)],
  ["DetA", ({ detA }) => percent(detA)],
  ["AssA", ({ assA }) => percent(assA)],
  ["LocA", ({ locA }) => percent(locA)],
  ["MOTA", ({ mota }) => percent(mota)],
  ["IDF1", ({ idf1 }) => percent(idf1)],
  ["IDSW", ({ switches }) => String(switches)],
  ["FP", ({ surplus }) => String(surplus)],
  ["FN", ({ missed }) => String(missed)],
  ["MT", ({ mostlyTracked }) => String(mostlyTracked)],
  ["ML", ({ mostlyLost }) => String(mostlyLost)],
  ["objects", ({ objects }) => String(objects)],
];

export function formatScores(sequences: readonly ReportedScores[], combined: ReportedScores, paint: Paint): string {
  const isTimed = combined.framesPerSecond !== null;
  const heads = ["", ...COLUMNS.map(([head]) => head), "frames", ...(isTimed ? ["frames/s"] : [])];
  const rows = [...sequences, combined].map(({ name, scores, frames, framesPerSecond }) => [
    name,
    ...COLUMNS.map(([, format]) => format(scores)),
    String(frames),
    ...(isTimed ? [(framesPerSecond ?? 0).toFixed(0)] : []),
  ]);
  const lines = alignTable(heads, rows, paint).split("\n");
  return lines.map((line, index) => (index === lines.length - 1 ? paint("bold", line) : line)).join("\n");
}

/** Percent with four digits, the same on every machine. */
export function toJson({ scores, frames, framesPerSecond }: Omit<ReportedScores, "name">): Record<string, number> {
  return {
    HOTA: toPercent(scores.hota),
    DetA: toPercent(scores.detA),
    AssA: toPercent(scores.assA),
    LocA: toPercent(scores.locA),
    MOTA: toPercent(scores.mota),
    IDF1: toPercent(scores.idf1),
    IDSW: scores.switches,
    FP: scores.surplus,
    FN: scores.missed,
    MT: scores.mostlyTracked,
    ML: scores.mostlyLost,
    objects: scores.objects,
    frames,
    ...(framesPerSecond === null ? {} : { framesPerSecond: Math.round(framesPerSecond) }),
  };
}

export const toPercent = (share: number): number => Math.round(share * 1e6) / 1e4;
