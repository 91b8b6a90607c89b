/** The status of a running graph: redrawn in place on a terminal; elsewhere, with --stats, a table per second. */

import type { FrameCount } from "../../graphs/runtime/frame-count.ts";
import type { BuiltGraph } from "../../graphs/runtime/run-options.ts";
import { StatsReader, type StepStats } from "../../graphs/runtime/stats.ts";
import type { Terminal } from "../terminal.ts";
import { alignColumns, formatRate, formatTime, type Paint, widthOf } from "../text.ts";
import type { RunSettings } from "./settings.ts";

const DRAW_EVERY_MS = 250;
const READ_EVERY_MS = 1000;
/** The first readings are early, so that a short run has one. */
const EARLY_READINGS = 3;

type Shown = Pick<RunSettings, "stats" | "json" | "quiet">;

/** Created before the first frame: a short run may end before its start is confirmed. */
export class Status {
  readonly #graph: BuiltGraph;
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
  #isBusy = false;
  /** Frames and time of about a second ago, for the rate. */
  #marks: { readonly frames: number; readonly atMs: number }[] = [];

  constructor(graph: BuiltGraph, count: FrameCount, settings: Shown, terminal: Terminal) {
    this.#graph = graph;
    this.#terminal = terminal;
    this.#count = count;
    this.#json = settings.json;
    this.#draws = terminal.isLive && !settings.quiet && !settings.json;
    this.#stats = settings.stats ? new StatsReader(graph) : null;
    this.#stats?.read(); // the baseline of the rates
    this.#timer = setInterval(() => void this.#tick(), DRAW_EVERY_MS);
  }

  /** Leaves the last table on the screen. */
  close(): void {
    clearInterval(this.#timer);
    this.#terminal.clear();
    if (this.#table.length > 0 && !this.#shown) this.#sayTable();
  }

  /** Called before the pipeline closes. */
  lastReading(): void {
    if (this.#stats === null || this.#readings > EARLY_READINGS) return;
    this.#readStats();
  }

  async #tick(): Promise<void> {
    if (this.#isBusy || this.#graph.state !== "running") return;
    this.#isBusy = true;
    try {
      const due = this.#readings < EARLY_READINGS || performance.now() - this.#readMs >= READ_EVERY_MS;
      if (this.#stats !== null && due) this.#readStats();
      if (this.#draws) await this.#draw();
      else if (this.#stats !== null && due && this.#readings > EARLY_READINGS) this.#sayTable();
    } catch {
      // The pipeline was closed meanwhile.
    } finally {
      this.#isBusy = false;
    }
  }

  #readStats(): void {
    const table = this.#stats?.read() ?? [];
    // A pipeline that closes has no readings: the last one is kept.
    if (table.length === 0) return;
    this.#table = table;
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

const HEADS = ["step", "element", "fps", "mean ms", "p95 ms", "queue", "drops"];
/** Names are aligned left, numbers right. */
const IS_NAME = [true, true, false, false, false, false, false];
/** Columns dropped on a narrow screen, in this order: element, mean, 95th percentile, queue. */
const DROPPABLE = [1, 3, 4, 5];

/** A line per step of the graph. Drops columns until it fits into `columns`. */
export function formatStats(
  stats: readonly StepStats[],
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const rows = [HEADS, ...stats.map((step) => formatStep(step, paint))];
  let shown = [...HEADS.keys()];
  const align = (): readonly string[] =>
    alignColumns(
      rows.map((row) => shown.map((column) => row[column] ?? "")),
      (index) => IS_NAME[shown[index] ?? 0] === true,
    );
  let [head = "", ...lines] = align();
  for (const column of DROPPABLE) {
    if (Math.max(...[head, ...lines].map(widthOf)) <= columns) break;
    shown = shown.filter((index) => index !== column);
    [head = "", ...lines] = align();
  }
  return [paint("dim", head), ...withSegments(stats, lines, paint)];
}

/** Branches follow the main segment, each below its name. */
function withSegments(stats: readonly StepStats[], lines: readonly string[], paint: Paint): readonly string[] {
  const branched = new Set(stats.map(({ segment }) => segment)).size > 1;
  return lines.flatMap((line, index) => {
    const segment = stats[index]?.segment;
    const begins = branched && segment !== stats[index - 1]?.segment;
    return begins ? [paint("dim", `─ ${segment}`), line] : [line];
  });
}

function formatStep(step: StepStats, paint: Paint): readonly string[] {
  return [
    step.kind === "typescript" ? paint("yellow", step.step) : step.step,
    step.element === step.step ? "" : step.element,
    formatRate(step.fps),
    step.meanMs > 0 ? step.meanMs.toFixed(2) : "",
    step.p95Ms > 0 ? step.p95Ms.toFixed(2) : "",
    step.queued === null ? "" : formatQueue(step.queued, step.capacity, paint),
    step.dropped > 0 ? paint("red", String(step.dropped)) : step.queued === null ? "" : "0",
  ];
}

function formatQueue(queued: number, capacity: number | null, paint: Paint): string {
  const text = capacity === null || capacity === 0 ? String(queued) : `${queued}/${capacity}`;
  return capacity !== null && capacity > 0 && queued >= capacity ? paint("yellow", text) : text;
}

/** A bar if the duration is known, else the position. */
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
