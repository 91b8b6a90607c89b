/** --stats: a line for each step of the graph. */
import type { StepStats } from "../../graphs/runtime/stats.ts";
import type { Paint } from "../terminal.ts";
import { padTo, widthOf } from "../text.ts";
import { formatRate } from "./progress.ts";

const HEADS = ["step", "element", "fps", "mean ms", "p95 ms", "queue", "drops"];
/** Numbers stand right, names left. */
const IS_NAME = [true, true, false, false, false, false, false];
/** Columns by their index: element, mean, 95th percentile, queue. */
const LEAST_TELLING = [1, 3, 4, 5];
const GAP = "  ";

/** Where it is wider than `columns`, the least telling columns are left out: drops are the last to go. */
export function formatStats(
  stats: readonly StepStats[],
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const rows = stats.map((step) => cells(step, paint).cells);
  const widths = HEADS.map((head, column) => Math.max(head.length, ...rows.map((row) => widthOf(row[column] ?? ""))));
  const shown = new Set(HEADS.keys());
  for (const column of LEAST_TELLING) {
    const width = [...shown].reduce((sum, index) => sum + (widths[index] ?? 0) + GAP.length, -GAP.length);
    if (width <= columns) break;
    shown.delete(column);
  }
  const lines = rows.map((row) => align(row, widths, shown));
  return [paint("dim", align(HEADS, widths, shown)), ...withSegments(stats, lines, paint)];
}

/** Branches follow their graph, each below its name. */
function withSegments(stats: readonly StepStats[], lines: readonly string[], paint: Paint): readonly string[] {
  const branched = new Set(stats.map(({ segment }) => segment)).size > 1;
  return lines.flatMap((line, index) => {
    const segment = stats[index]?.segment;
    const begins = branched && segment !== stats[index - 1]?.segment;
    return begins ? [paint("dim", `─ ${segment}`), line] : [line];
  });
}

function cells(step: StepStats, paint: Paint): { readonly cells: readonly string[] } {
  const queue = step.queued === null ? "" : formatQueue(step.queued, step.capacity, paint);
  return {
    cells: [
      step.kind === "typescript" ? paint("yellow", step.step) : step.step,
      step.element === step.step ? "" : step.element,
      formatRate(step.fps),
      step.meanMs > 0 ? step.meanMs.toFixed(2) : "",
      step.p95Ms > 0 ? step.p95Ms.toFixed(2) : "",
      queue,
      step.dropped > 0 ? paint("red", String(step.dropped)) : step.queued === null ? "" : "0",
    ],
  };
}

function formatQueue(queued: number, capacity: number | null, paint: Paint): string {
  const text = capacity === null || capacity === 0 ? String(queued) : `${queued}/${capacity}`;
  return capacity !== null && capacity > 0 && queued >= capacity ? paint("yellow", text) : text;
}

function align(cells: readonly string[], widths: readonly number[], shown: ReadonlySet<number>): string {
  return cells
    .flatMap((cell, column) => {
      if (!shown.has(column)) return [];
      const width = widths[column] ?? 0;
      return IS_NAME[column] ? padTo(cell, width) : " ".repeat(Math.max(0, width - widthOf(cell))) + cell;
    })
    .join(GAP)
    .trimEnd();
}
