/** The comparison of two graphs as a table and as JSON. */
import { alignTable, formatRate, type Paint } from "../../cli/text.ts";
import { toPercent } from "../eval/mot/report.ts";
import type { Agreement } from "./agreement.ts";
import type { TruthScores } from "./truth.ts";

export interface ComparedGraph {
  readonly graph: string;
  /** As written on the command line. */
  readonly params: Readonly<Record<string, string>>;
  /** Of each round. */
  readonly framesPerSecond: readonly number[];
  readonly frames: number;
  readonly hasTracks: boolean;
  readonly truth: TruthScores | null;
}

export interface ComparedGraphs {
  readonly clip: string;
  readonly a: ComparedGraph;
  readonly b: ComparedGraph;
  /** Frames per second of B, relative to A: the median over the rounds. */
  readonly speed: number;
  /** Of B, with A as the reference. */
  readonly agreement: Agreement;
}

export const nameOf = ({ graph, params }: Pick<ComparedGraph, "graph" | "params">): string =>
  [graph, ...Object.entries(params).map(([name, value]) => `${name}=${value}`)].join(" ");

export function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

export function formatComparison({ a, b, speed, agreement }: ComparedGraphs, paint: Paint): string {
  const isTracked = a.hasTracks && b.hasTracks;
  const rows: (readonly string[])[] = [
    ["frames", String(a.frames), String(b.frames), ""],
    ["frames/s", formatRate(median(a.framesPerSecond)), formatRate(median(b.framesPerSecond)), `${speed.toFixed(2)}×`],
    ...(isTracked ? listTracks(agreement) : []),
    ["recall", "", "", percent(agreement.recall)],
    ["precision", "", "", percent(agreement.precision)],
    ["agreement", "", "", percent(agreement.agreement)],
    ...(isTracked ? [["id switches", "", "", String(agreement.switches)]] : []),
    ...listScores(a.truth, b.truth),
  ];
  return [
    ...(["A", "B"] as const).map((side) => `${paint("bold", side)}  ${nameOf(side === "A" ? a : b)}`),
    "",
    alignTable(["", "A", "B", "B to A"], rows, paint),
  ].join("\n");
}

function listTracks({ classes }: Agreement): readonly (readonly string[])[] {
  const sum = (key: "reference" | "other" | "matched"): string =>
    String(classes.reduce((total, { tracks }) => total + tracks[key], 0));
  return [
    ["tracks", sum("reference"), sum("other"), `${sum("matched")} matched`],
    ...classes.map(({ name, tracks }) => [
      `  ${name}`,
      String(tracks.reference),
      String(tracks.other),
      `${tracks.matched} matched`,
    ]),
  ];
}

function listScores(a: TruthScores | null, b: TruthScores | null): readonly (readonly string[])[] {
  if (a === null || b === null) return [];
  const row = (head: string, was: number, is: number): readonly string[] => [
    head,
    percent(was),
    percent(is),
    `${is >= was ? "+" : ""}${((is - was) * 100).toFixed(1)}`,
  ];
  return [
    row("AP50", a.ap, b.ap),
    row("HOTA", a.hota, b.hota),
    row("IDF1", a.idf1, b.idf1),
    ["IDSW", String(a.switches), String(b.switches), String(b.switches - a.switches)],
  ];
}

/** Shares are in percent, with four digits. */
export function toJson({ clip, a, b, speed, agreement }: ComparedGraphs): object {
  const { recall, precision, agreement: both, ap, hota, idf1, switches, classes } = agreement;
  return {
    clip,
    a: describeGraph(a),
    b: describeGraph(b),
    speed: Math.round(speed * 1000) / 1000,
    agreement: {
      recall: toPercent(recall),
      precision: toPercent(precision),
      agreement: toPercent(both),
      AP50: toPercent(ap),
      ...(a.hasTracks && b.hasTracks && { HOTA: toPercent(hota), IDF1: toPercent(idf1), IDSW: switches, classes }),
    },
  };
}

const describeGraph = ({ graph, params, framesPerSecond, frames, truth }: ComparedGraph) => ({
  ...{ graph, params, frames },
  framesPerSecond: Math.round(median(framesPerSecond) * 10) / 10,
  rounds: framesPerSecond.map((fps) => Math.round(fps * 10) / 10),
  truth: truth && {
    AP50: toPercent(truth.ap),
    HOTA: toPercent(truth.hota),
    IDF1: toPercent(truth.idf1),
    IDSW: truth.switches,
  },
});
