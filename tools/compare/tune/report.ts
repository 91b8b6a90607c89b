/** The result of a search as a table and as JSON, with the command line to use. */
import { alignTable, formatRate, type Paint } from "../../../cli/text.ts";
import { toPercent } from "../../eval/mot/report.ts";
import type { Floors } from "../floors.ts";
import { formatParams, formatSetting, type Knob, keyOf, type Setting, toChanges } from "./knobs.ts";
import { compareByFloors, findFront, isAbove, type Measured } from "./search.ts";

export interface Tried extends Measured {
  /** All measures by the names of floors, shares from 0 to 1. */
  readonly measures: Readonly<Record<string, number>>;
}

export interface Failed {
  readonly setting: Setting;
  readonly reason: string;
}

export interface Tuning {
  readonly graph: string;
  readonly clip: string;
  /** As written on the command line. */
  readonly params: Readonly<Record<string, string>>;
  readonly knobs: readonly Knob[];
  readonly floors: Floors;
  /** The name of the quality. */
  readonly measure: string;
  /** What the others are compared with; null: ground truth. */
  readonly reference: Setting | null;
  readonly tried: readonly Tried[];
  readonly failed: readonly Failed[];
  /** Why no more settings were measured. */
  readonly end: string;
}

export const formatShare = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** The one to use; null if all are below the floors. */
export const chooseBest = ({ tried, floors, measure }: Tuning): Tried | null =>
  [...tried]
    .filter(({ measures }) => isAbove(measures, floors))
    .sort((a, b) => compareByFloors(a, b, floors, measure))[0] ?? null;

export function formatTuning(tuning: Tuning, paint: Paint): string {
  const { tried, floors, measure, reference, end } = tuning;
  const best = chooseBest(tuning);
  const front = findFront(tried);
  const rows = front.map(({ setting, fps, quality, measures }) => [
    formatSetting(setting),
    formatRate(fps),
    formatShare(quality),
    floors.size > 0 && isAbove(measures, floors) ? "✓" : "",
    [
      ...(setting === best?.setting ? ["use this"] : []),
      ...(reference !== null && keyOf(setting) === keyOf(reference) ? ["reference"] : []),
    ].join(", "),
  ]);
  const heads = ["setting", "frames/s", measure, floors.size > 0 ? "above the floor" : "", ""];
  const count = `${tried.length} ${tried.length === 1 ? "setting" : "settings"} measured, ${front.length} on the front; ${end}`;
  return [
    alignTable(heads, rows, paint, (column) => column === 0 || column === 4),
    "",
    count,
    ...(best === null ? ["no setting is above the floor"] : describeUse(tuning, best)),
  ].join("\n");
}

/** Parameters for the command line, and a variant of the graph for properties that have none. */
function describeUse({ graph, clip, params, knobs }: Tuning, { setting }: Tried): readonly string[] {
  const changes = toChanges(setting, knobs);
  const words = [...formatParams(params), ...formatParams(changes.params)];
  const nodes = Object.entries(changes.set);
  if (nodes.length === 0) return [`use: ${["windhover", "run", graph, clip, ...words].join(" ")}`];
  return [
    `use a variant of the graph${words.length === 0 ? "" : ` with ${words.join(" ")}`}:`,
    "",
    "graph: tuned",
    `extends: ${graph}`,
    "set:",
    ...nodes.map(([node, properties]) => `  ${node}: ${JSON.stringify(properties)}`),
  ];
}

export function toJson(tuning: Tuning): object {
  const { graph, clip, params, knobs, floors, measure, reference, tried, failed, end } = tuning;
  const front = new Set(findFront(tried));
  const best = chooseBest(tuning);
  return {
    ...{ graph, clip, params, measure, reference, end },
    floor: Object.fromEntries(floors),
    settings: tried.map((one) => ({
      ...{ setting: one.setting, framesPerSecond: Math.round(one.fps * 10) / 10 },
      ...Object.fromEntries(
        Object.entries(one.measures).flatMap(([name, value]) => (name === "fps" ? [] : [[name, toPercent(value)]])),
      ),
      ...{ isOnFront: front.has(one), isAboveFloor: isAbove(one.measures, floors) },
    })),
    failed,
    use: best && { setting: best.setting, ...toChanges(best.setting, knobs) },
  };
}
