/** `--trace FILE`: when every frame was in which step, for https://ui.perfetto.dev. */
import type { TracedWork } from "../../../elements/element.ts";
import type { BuiltGraph } from "../../../graphs/runtime/run-options.ts";
import { SpanReader } from "../../../graphs/runtime/spans.ts";
import { formatBytes } from "../../text.ts";
import { readVersion } from "../../version.ts";
import type { Reporter } from "../reporter.ts";
import { MOST_FRAMES } from "./limits.ts";
import { type TraceEvent, TraceEvents } from "./trace-events.ts";
import { TraceFile } from "./trace-file.ts";

/** Far below the time in which the recorder of a step can be full. */
const READ_EVERY_MS = 100;

export class Trace {
  readonly #name: string;
  readonly #file: TraceFile;
  readonly #events: TraceEvents;
  readonly #reporter: Reporter;
  readonly #timer: NodeJS.Timeout;
  /** Of threads of elements, since the last reading. */
  #work: TraceEvent[] = [];
  /** Null before the first pipeline, and after the end of the trace. */
  #spans: SpanReader | null = null;
  /** Of each step. */
  readonly #frames = new Map<string, number>();
  #workSlices = 0;
  #lost = 0;
  #isFull = false;
  #isFailed = false;

  /** Throws `CommandFailure` for a file that cannot be written. */
  constructor(file: string, graph: string, reporter: Reporter) {
    this.#name = file;
    this.#reporter = reporter;
    this.#events = new TraceEvents(Number(process.hrtime.bigint()));
    this.#file = new TraceFile(file, this.#events.begin(graph), { windhover: readVersion(), graph });
    this.#timer = setInterval(() => this.read(), READ_EVERY_MS);
  }

  /** Records from the first frame of the pipeline on, which must not play yet. */
  place(graph: BuiltGraph): void {
    if (this.#isOver) return;
    this.#spans ??= new SpanReader(graph);
    this.read();
  }

  readonly work = (node: string, work: TracedWork): void => {
    if (this.#isOver) return;
    this.#work.push(...this.#events.ofWork(node, work));
    this.#workSlices += 1;
  };

  /** Called regularly, and before the pipeline closes. */
  read(): void {
    if (this.#spans === null || this.#isOver) return;
    try {
      const steps = this.#spans.read();
      for (const { step, spans, lost } of steps) {
        this.#frames.set(step, (this.#frames.get(step) ?? 0) + spans.length + lost);
        this.#lost += lost;
      }
      const events = this.#events.ofSteps(steps);
      this.#file.add([...events, ...this.#work]);
      this.#work = [];
    } catch (error) {
      this.#isFailed = true;
      this.#reporter.error(`windhover: ${(error as Error).message}`, { type: "trace", file: this.#name });
    }
    if (Math.max(0, ...this.#frames.values()) >= MOST_FRAMES) this.#isFull = true;
    if (this.#isOver) this.#spans.read(false);
  }

  /** Returns whether the file was written. */
  finish(): boolean {
    const { bytes } = this.#file;
    this.close();
    if (this.#isFailed) return false;
    const slices = this.#slices;
    const rest = [
      `${slices} ${slices === 1 ? "slice" : "slices"}`,
      formatBytes(bytes),
      ...(this.#isFull ? [`ended after ${MOST_FRAMES} frames`] : []),
      ...(this.#lost > 0 ? [`${this.#lost} slices lost`] : []),
      "open it in https://ui.perfetto.dev",
    ];
    const record = { type: "written", file: this.#name, bytes, slices, full: this.#isFull, lost: this.#lost };
    this.#reporter.note(`written: ${this.#name}, ${rest.join(", ")}`, record);
    return true;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#file.close();
  }

  get #slices(): number {
    return [...this.#frames.values()].reduce((sum, frames) => sum + frames, this.#workSlices - this.#lost);
  }

  get #isOver(): boolean {
    return this.#isFull || this.#isFailed;
  }
}
