/** What is shown while a graph runs: on a terminal redrawn in place, elsewhere a table a second if one is asked for. */
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { StatsReader, type StepStats } from "../../graphs/runtime/stats.ts";
import type { Paint, Terminal } from "../terminal.ts";
import { formatRate, formatTime, padTo, widthOf } from "../text.ts";
import type { FrameCount } from "./frame-count.ts";
import type { RunSettings } from "./settings.ts";

const DRAW_EVERY_MS = 250;
const READ_EVERY_MS = 1000;
/** The first readings come sooner, so that a short run has one. */
const EARLY_READINGS = 3;

type Shown = Pick<RunSettings, "stats" | "json" | "quiet">;

export class Status {
  readonly #graph: RunningGraph;
  readonly #terminal: Terminal;
  readonly #count: FrameCount;
  readonly #json: boolean;
  readonly #draws: boolean;
  readonly #stats: StatsReader | null;
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #table: readonly StepStats[] = [];
  #readings = 0;
  #readMs = Number.NEGATIVE_INFINITY;
  #shown = false;
  #looking = false;
  /** Frames and time of about a second ago, for the rate. */
  #marks: { readonly frames: number; readonly atMs: number }[] = [];

  constructor(graph: RunningGraph, count: FrameCount, settings: Shown, terminal: Terminal) {
    this.#graph = graph;
    this.#terminal = terminal;
    this.#count = count;
    this.#json = settings.json;
    this.#draws = terminal.isLive && !settings.quiet && !settings.json;
    this.#stats = settings.stats ? new StatsReader(graph) : null;
    this.#stats?.read(); // what rates are counted from
    this.#timer = setInterval(() => void this.#tick(), DRAW_EVERY_MS);
  }

  /** Leaves the last table on the screen. */
  close(): void {
    clearInterval(this.#timer);
    this.#terminal.clear();
    if (this.#table.length > 0 && !this.#shown) this.#sayTable();
  }

  /** Before the pipeline closes. */
  lastReading(): void {
    if (this.#stats === null || this.#readings > EARLY_READINGS) return;
    this.#readStats();
  }

  async #tick(): Promise<void> {
    if (this.#looking || this.#graph.state !== "running") return;
    this.#looking = true;
    try {
      const due = this.#readings < EARLY_READINGS || performance.now() - this.#readMs >= READ_EVERY_MS;
      if (this.#stats !== null && due) this.#readStats();
      if (this.#draws) await this.#draw();
      else if (this.#stats !== null && due && this.#readings > EARLY_READINGS) this.#sayTable();
    } catch {
      // The pipeline was closed meanwhile: there is nothing to show any more.
    } finally {
      this.#looking = false;
    }
  }

  #readStats(): void {
    this.#table = this.#stats?.read() ?? [];
    this.#readings += 1;
    this.#readMs = performance.now();
    this.#shown = false;
  }

  #sayTable(): void {
    this.#shown = true;
    if (this.#json) this.#terminal.say(JSON.stringify({ type: "stats", steps: this.#table }));
    else this.#terminal.say(formatStats(this.#table, this.#terminal.paintErr).join("\n"));
  }

  async #draw(): Promise<void> {
    const { pipeline } = this.#graph;
    const [positionNs, durationNs] = await Promise.all([pipeline.position(), pipeline.duration()]);
    if (this.#graph.state !== "running") return;
    const paint = this.#terminal.paintErr;
    const frames = this.#count.read();
    const progress = { elapsedMs: performance.now() - this.#startMs, frames, fps: this.#rate(frames) };
    const table = this.#table.length === 0 ? [] : formatStats(this.#table, paint, this.#terminal.columns - 1);
    this.#terminal.draw([...table, formatProgress({ ...progress, positionNs, durationNs }, paint)]);
  }

  #rate(frames: number): number {
    const nowMs = performance.now();
    this.#marks.push({ frames, atMs: nowMs });
    this.#marks = this.#marks.filter(({ atMs }) => nowMs - atMs <= READ_EVERY_MS + DRAW_EVERY_MS);
    const [first] = this.#marks;
    if (first === undefined || first.atMs === nowMs) return 0;
    return ((frames - first.frames) * 1000) / (nowMs - first.atMs);
  }
}

// --stats: a line for each step of the graph.
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

// How far a run is: a bar where the end is known, else how much has come.
export interface Progress {
  readonly elapsedMs: number;
  readonly frames: number;
  readonly fps: number;
  readonly positionNs: bigint | null;
  readonly durationNs: bigint | null;
}

const BAR_COLUMNS = 24;
const EIGHTHS = " ▏▎▍▌▋▊▉";

export function formatProgress(progress: Progress, paint: Paint): string {
  const { positionNs, durationNs, frames, fps, elapsedMs } = progress;
  const rate = `${formatRate(fps)} fps`;
  const count = `${frames} frames`;
  if (positionNs === null || durationNs === null || durationNs <= 0n) {
    const at = positionNs === null ? formatTime(elapsedMs / 1000) : formatTime(Number(positionNs) / 1e9);
    return [at, rate, count].join("  ");
  }
  const part = Math.min(1, Number(positionNs) / Number(durationNs));
  const left = part > 0 && elapsedMs > 500 ? (elapsedMs / 1000) * (1 / part - 1) : null;
  return [
    paint("cyan", formatBar(part)),
    `${Math.floor(part * 100)}%`.padStart(4),
    `${formatTime(Number(positionNs) / 1e9)} of ${formatTime(Number(durationNs) / 1e9)}`,
    rate,
    ...(left === null ? [] : [`${formatTime(Math.ceil(left), 0)} left`]),
  ].join("  ");
}

function formatBar(part: number): string {
  const eighths = Math.round(part * BAR_COLUMNS * 8);
  const whole = Math.floor(eighths / 8);
  const rest = whole < BAR_COLUMNS ? (EIGHTHS[eighths % 8] ?? " ") : "";
  return `▕${("█".repeat(whole) + rest).padEnd(BAR_COLUMNS)}▏`;
}
