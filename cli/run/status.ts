/** What is shown while a graph runs: on a terminal redrawn in place, elsewhere a table a second if one is asked for. */
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { StatsReader, type StepStats } from "../../graphs/runtime/stats.ts";
import type { Terminal } from "../terminal.ts";
import type { FrameCount } from "./frame-count.ts";
import { formatProgress } from "./progress.ts";
import type { RunSettings } from "./settings.ts";
import { formatStats } from "./stats-table.ts";

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
