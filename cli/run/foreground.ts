/** One run in the foreground: the probes in the pipeline, the status while it plays, the summary at its end. */
import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanSegment } from "../../graphs/compiler/plan.ts";
import { type GraphEvent, GraphFailure } from "../../graphs/runtime/events.ts";
import { explainFailure } from "../../graphs/runtime/explain-failure.ts";
import { FileWatch } from "../../graphs/runtime/file-watch.ts";
import { FrameCount, StreamTime } from "../../graphs/runtime/frame-count.ts";
import { RunningGraph, type RunResult } from "../../graphs/runtime/running-graph.ts";
import type { SlotRequest } from "../../graphs/runtime/slots.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { TRACK_REPORT_CHANNEL, type TrackReport } from "../../schemas/track-report.ts";
import { EXIT } from "../command.ts";
import type { LoadedKnowledge } from "../compile-graph.ts";
import { withTrace } from "../faults.ts";
import { writeText } from "../files.ts";
import type { Terminal } from "../terminal.ts";
import { formatRate } from "../text.ts";
import { onInterrupt } from "./interrupt.ts";
import { TracksFile, WrittenFiles } from "./output-files.ts";
import { Snapshots, tapNodes } from "./probes.ts";
import { type GraphOrigin, reload } from "./reload.ts";
import { reloadElements } from "./reload-elements.ts";
import { exitOnUncaught, Reporter, reportEvent, showLog } from "./reporter.ts";
import type { RunSettings } from "./settings.ts";
import { Status } from "./status.ts";
import type { Flight } from "./telemetry-file.ts";
import { Trace } from "./trace/trace.ts";

/** Grace period for the end of the stream before a live source is stopped by the clock. */
const OVERTIME_MS = 1_000;
/** Events that are shown with `--stats` only. */
const PERIODIC = new Set(["stats", "output", "camera"]);
/** Of --seconds, for which a source that has ended starts again. */
const LEAST_SECONDS = 0.1;
const DOT_AGAIN_MS = 1_000;

export class ForegroundRun {
  readonly #origin: GraphOrigin;
  readonly #settings: RunSettings;
  readonly #knowledge: LoadedKnowledge;
  readonly #terminal: Terminal;
  readonly #reporter: Reporter;
  readonly #snapshots: Snapshots;
  readonly #count = new FrameCount();
  readonly #time = new StreamTime();
  readonly #files = new WrittenFiles();
  readonly #cut = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #tracks: TracksFile | null = null;
  #trace: Trace | null = null;
  #graph: RunningGraph | null = null;
  #status: Status | null = null;
  #watch: FileWatch | null = null;
  #elementWatch: FileWatch | null = null;
  /** A serial queue. */
  #reloading: Promise<void> = Promise.resolve();
  #interrupted = false;
  /** When the source started again last. */
  #repeatedFrames = 0;
  /** A snapshot or a file could not be written. */
  #incomplete = false;
  /** Errors that elements logged and recovered from. */
  #errors = 0;

  constructor(origin: GraphOrigin, settings: RunSettings, knowledge: LoadedKnowledge, terminal: Terminal) {
    this.#origin = origin;
    this.#settings = settings;
    this.#knowledge = knowledge;
    this.#terminal = terminal;
    this.#reporter = new Reporter(terminal, settings);
    this.#snapshots = new Snapshots(settings.snapshots, this.#reporter);
  }

  async run(
    compiled: Compiled,
    plan: GraphPlan,
    attach: readonly SlotRequest[],
    flight: Flight | null,
  ): Promise<number> {
    const stopLog = showLog(this.#settings.log, this.#settings.json, this.#terminal);
    const removeSignals = onInterrupt(
      () => this.#interrupt(),
      () => this.#force(),
    );
    const removeUncaught = exitOnUncaught(this.#reporter, this.#terminal);
    this.#terminal.onClosed(() => void this.#stop());
    if (this.#settings.watch) this.#startWatching();
    const startMs = performance.now();
    try {
      if (this.#settings.tracks !== null) this.#tracks = new TracksFile(this.#settings.tracks, plan.source?.uri ?? "");
      if (this.#settings.trace !== null) this.#trace = new Trace(this.#settings.trace, plan.graph, this.#reporter);
      const result = this.#resultOf(await this.#play(compiled, attach, flight));
      const seconds = (performance.now() - startMs) / 1000;
      this.#status?.close();
      if (!(await this.#snapshots.finish())) this.#incomplete = true;
      this.#tracks?.finish(this.#reporter);
      if (this.#trace?.finish() === false) this.#incomplete = true;
      await this.#summarise(result, this.#graph?.plan ?? plan, seconds);
      return result.state === "finished" && !this.#incomplete && this.#errors === 0 ? EXIT.ok : EXIT.failed;
    } finally {
      this.#tracks?.close();
      this.#trace?.close();
      this.#watch?.close();
      this.#elementWatch?.close();
      removeSignals();
      removeUncaught();
      for (const timer of this.#timers) clearTimeout(timer);
      stopLog();
    }
  }

  async #play(compiled: Compiled, attach: readonly SlotRequest[], flight: Flight | null): Promise<RunResult> {
    if (flight?.cut) this.#reporter.warn(`telemetry: ${flight.cut}`, { type: "telemetry", cut: flight.cut });
    if (flight?.lack) this.#reporter.warn(`telemetry: ${flight.lack}`, { type: "telemetry", lack: flight.lack });
    try {
      this.#graph = await RunningGraph.start(compiled, {
        ...this.#knowledge,
        attach,
        deliver: flight?.samples.map((message) => ({ channel: TELEMETRY_CHANNEL, message })) ?? [],
        signal: this.#cut.signal,
        terrainFolder: this.#settings.terrain,
        onEvent: (event) => this.#onEvent(event),
        print: (line) => this.#print(line),
        send: (_node, channel, message) => this.#onMessage(channel, message),
        onBuilt: (pipeline, segments, origins, graph) => {
          this.#onBuilt(pipeline, segments, origins);
          this.#trace?.place(graph);
          this.#status ??= new Status(graph, this.#count, this.#settings, this.#terminal);
        },
        onClosing: () => this.#onClosing(),
        repeat: () => this.#repeats(),
        ...(this.#trace && { trace: this.#trace.work }),
      });
    } catch (error) {
      const failure = error instanceof GraphFailure ? error : new GraphFailure(null, (error as Error).message);
      return { state: "failed", error: failure };
    }
    if (this.#interrupted || this.#terminal.isClosed) void this.#graph.stop();
    if (this.#settings.dot !== null) await this.#writeDot(this.#graph, this.#settings.dot);
    return this.#graph.ended;
  }

  /** Messages are printed as lines; track summaries are for the tracks file. */
  async #onMessage(channel: string, message: JsonRecord): Promise<void> {
    if (channel === TRACK_REPORT_CHANNEL) this.#tracks?.take(message as TrackReport);
    else await this.#print(JSON.stringify(message));
  }

  #print(line: string): Promise<void> {
    return this.#origin.print?.(line) ?? this.#terminal.print(line);
  }

  /** An interrupt before the graph has started is not a failure. */
  #resultOf(result: RunResult): RunResult {
    return this.#interrupted && this.#graph === null ? { state: "finished", error: null } : result;
  }

  /** Adds limits, counters, probes and snapshots to a new pipeline before it plays. */
  #onBuilt(pipeline: Pipeline, segments: readonly PlanSegment[], origins: readonly string[]): void {
    const { frames, seconds, probes, watch } = this.#settings;
    // After a relaunch, what remains.
    const leftNs = seconds === null ? null : BigInt(Math.round(seconds * 1e9)) - this.#time.spentNs;
    const limits = {
      ...(frames !== null && { frames: Math.max(1, frames - this.#count.most) }),
      ...(leftNs !== null && { untilNs: leftNs > 0n ? leftNs : 1n }),
    };
    // Before the counter, which then does not count frames beyond the limit.
    if (frames !== null || seconds !== null) for (const node of origins) pipeline.limit(node, limits);
    this.#count.place(pipeline, origins);
    this.#files.place(segments);
    if (watch && seconds !== null) this.#time.place(pipeline, origins);
    tapNodes(probes, pipeline, segments, this.#terminal);
    this.#snapshots.place(pipeline, segments);
  }

  /** --watch: until it is interrupted, or its limits are reached. A source without frames would only end again. */
  #repeats(): boolean {
    const { watch, frames, seconds } = this.#settings;
    const count = this.#count.read();
    const secondsLeft = seconds === null ? Number.POSITIVE_INFINITY : seconds - Number(this.#time.spentNs) / 1e9;
    const isOver = (frames !== null && this.#count.most >= frames) || secondsLeft < LEAST_SECONDS;
    if (!watch || this.#interrupted || isOver || count === this.#repeatedFrames) return false;
    if (this.#repeatedFrames === 0)
      this.#reporter.note("the source has ended and starts again; press Ctrl-C to stop", { type: "repeated" });
    this.#repeatedFrames = count;
    return true;
  }

  #onClosing(): void {
    this.#status?.lastReading();
    this.#trace?.read();
    this.#count.keep();
    this.#time.keep();
  }

  #onEvent(event: GraphEvent): void {
    // Changes of `output` are also in the log.
    const isPeriodic = event.type === "element" && PERIODIC.has(event.event.type);
    if (!isPeriodic || this.#settings.stats) reportEvent(event, this.#reporter);
    if (event.type === "log" && event.level === "error") this.#errors += 1;
    const { seconds } = this.#settings;
    const isLive = event.type === "element" && event.event.type === "source" && event.event.state === "live";
    // The stream time of a frozen camera stands still: the clock ends the run.
    if (isLive && seconds !== null && this.#timers.size === 0)
      this.#timers.add(setTimeout(() => void this.#stop(), seconds * 1000 + OVERTIME_MS));
  }

  #startWatching(): void {
    const enqueue = (work: () => Promise<void>) => () => {
      this.#reloading = this.#reloading.then(work);
    };
    this.#watch = new FileWatch(enqueue(() => this.#reload()));
    this.#watch.follow(this.#origin.files());
    this.#elementWatch = new FileWatch(enqueue(() => this.#reloadElements()));
    this.#elementWatch.follow(this.#elementFiles());
  }

  async #reload(): Promise<void> {
    if (this.#graph === null) return;
    await reload(this.#graph, this.#origin, this.#reporter, this.#terminal);
    this.#watch?.follow(this.#origin.files());
  }

  async #reloadElements(): Promise<void> {
    if (this.#graph === null) return;
    await reloadElements({
      ...{ graph: this.#graph, elements: this.#knowledge.elements, origin: this.#origin },
      ...{ reporter: this.#reporter, terminal: this.#terminal },
    });
    this.#elementWatch?.follow(this.#elementFiles());
  }

  #elementFiles(): readonly string[] {
    return this.#knowledge.elements.outside.flatMap((element) => element.files());
  }

  #interrupt(): void {
    this.#interrupted = true;
    this.#terminal.clear();
    this.#reporter.note("stopping: frames in flight are finished; press Ctrl-C again to abort", {
      type: "interrupted",
    });
    if (this.#graph === null) this.#cut.abort();
    else void this.#stop();
  }

  #force(): void {
    this.#terminal.clear();
    this.#reporter.error("aborted", { type: "cut-off" });
    process.exit(EXIT.failed);
  }

  async #stop(): Promise<void> {
    this.#interrupted = true;
    await this.#graph?.stop();
  }

  /** Written at the start, and again when dynamic pads have been added. */
  async #writeDot(graph: RunningGraph, file: string): Promise<void> {
    const write = async () => {
      const text = await graph.pipeline.dot().catch(() => null);
      if (text !== null) await writeText(file, text);
    };
    try {
      await write();
    } catch (error) {
      this.#incomplete = true;
      this.#reporter.error(`windhover: ${(error as Error).message}`, { type: "dot", file });
      return;
    }
    const again = setTimeout(() => void write().catch(() => {}), DOT_AGAIN_MS);
    void graph.ended.then(() => clearTimeout(again));
  }

  async #summarise({ state, error }: RunResult, plan: GraphPlan, seconds: number): Promise<void> {
    const { frames, sources } = this.#count;
    const fps = seconds > 0 ? frames / seconds : 0;
    const message = error === null ? null : await explainFailure(error, plan);
    const trace = error?.trace ?? [];
    const record = {
      type: "summary",
      graph: plan.graph,
      source: plan.source?.uri ?? null,
      state,
      error: message,
      ...(trace.length > 0 && { trace: [...trace] }),
      frames,
      sources,
      errors: this.#errors,
      seconds: Math.round(seconds * 1000) / 1000,
      fps: Math.round(fps * 10) / 10,
    };
    const of = sources > 1 ? ` of ${sources} sources` : "";
    const text = `${frames} ${frames === 1 ? "frame" : "frames"}${of} in ${seconds.toFixed(1)} s (${formatRate(fps)} fps)`;
    const but = this.#errors > 0 ? "; with errors, see above" : "";
    this.#files.report(this.#reporter);
    const shown = message !== null && error?.isRefusal !== true ? withTrace(message, trace) : message;
    if (shown !== null) this.#reporter.error(`windhover: ${shown}`, record);
    else if (!this.#terminal.isClosed) this.#reporter.note(`${plan.graph}: ${text}${but}`, record);
  }
}
