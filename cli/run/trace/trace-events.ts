/**
 * Spans of frames as events of the Trace Event Format, which https://ui.perfetto.dev and chrome://tracing open. A step has
 * one track, and further ones for frames that it processes at the same time, so that slices on a track never overlap.
 * Frames that wait in a queue are asynchronous slices instead, as a queue holds many, with the level as a counter.
 */
import type { TracedWork } from "../../../elements/element.ts";
import type { FrameSpan, StepSpans } from "../../../graphs/runtime/spans.ts";

interface Common {
  readonly name: string;
  readonly pid: number;
}

/** Times are in microseconds since the start of the trace. */
export type TraceEvent = Common &
  (
    | { readonly ph: "M"; readonly tid: number; readonly args: Readonly<Record<string, string | number>> }
    | {
        readonly ph: "X";
        readonly cat: string;
        readonly tid: number;
        readonly ts: number;
        readonly dur: number;
        readonly args: FrameArgs;
      }
    | {
        readonly ph: "i";
        readonly cat: string;
        readonly tid: number;
        readonly ts: number;
        readonly s: "t";
        readonly args: FrameArgs;
      }
    | {
        readonly ph: "b" | "e";
        readonly cat: string;
        readonly id: number;
        readonly tid: number;
        readonly ts: number;
        readonly args: FrameArgs;
      }
    | { readonly ph: "C"; readonly ts: number; readonly args: { readonly frames: number } }
  );

interface FrameArgs {
  /** Null: the frame has no timestamp. */
  readonly pts_ms: number | null;
}

const PID = 1;
/** Not 0, which is the idle thread of a kernel to Perfetto. */
const FIRST_TID = 1;
/** Room for the tracks of a step between its own and those of the next. */
const TRACKS_PER_STEP = 1_000;
/** Threads of a step come after its own tracks, with room for further tracks of each. */
const THREADS_AFTER = TRACKS_PER_STEP / 2;
const TRACKS_PER_THREAD = 50;

interface Lane {
  readonly tid: number;
  /** End of its last slice. */
  endNs: number;
}

/** One step, or one thread of a step. */
interface Track {
  readonly name: string;
  readonly sortIndex: number;
  readonly lanes: Lane[];
}

export class TraceEvents {
  readonly #originNs: number;
  readonly #tracks = new Map<string, Track>();
  /** Steps in the order of the graph. */
  readonly #order = new Map<string, number>();
  /** Of each step, in the order of their first work. */
  readonly #threads = new Map<string, Set<string>>();
  #nextWait = 1;

  /** @param originNs of `process.hrtime` */
  constructor(originNs: number) {
    this.#originNs = originNs;
  }

  begin(graph: string): TraceEvent {
    return { name: "process_name", ph: "M", pid: PID, tid: FIRST_TID, args: { name: `windhover ${graph}` } };
  }

  ofSteps(steps: readonly StepSpans[]): readonly TraceEvent[] {
    for (const { step } of steps) this.#orderOf(step);
    return steps.flatMap(({ step, kind, spans }) => {
      const cat = kind === "typescript" ? "typescript" : "gstreamer";
      const track = this.#track(step, this.#orderOf(step) * TRACKS_PER_STEP);
      return [...spans]
        .sort((a, b) => a.fromNs - b.fromNs)
        .flatMap((span) => (span.queued === null ? this.#slice(track, cat, span) : this.#wait(track, span)));
    });
  }

  ofWork(step: string, { thread, ptsNs, fromNs, toNs }: TracedWork): readonly TraceEvent[] {
    const threads = this.#threads.get(step) ?? new Set();
    this.#threads.set(step, threads.add(thread));
    const after = THREADS_AFTER + [...threads].indexOf(thread) * TRACKS_PER_THREAD;
    const track = this.#track(`${step} ${thread}`, this.#orderOf(step) * TRACKS_PER_STEP + after);
    const span = { ptsNs: ptsNs === null ? null : Number(ptsNs), fromNs: Number(fromNs), toNs: Number(toNs) };
    return this.#slice(track, "thread", span);
  }

  #orderOf(step: string): number {
    const known = this.#order.get(step) ?? this.#order.size;
    this.#order.set(step, known);
    return known;
  }

  #track(name: string, sortIndex: number): Track {
    const track = this.#tracks.get(name) ?? { name, sortIndex, lanes: [] };
    this.#tracks.set(name, track);
    return track;
  }

  #slice(track: Track, cat: string, span: Omit<FrameSpan, "queued">): readonly TraceEvent[] {
    const { lane, named } = this.#lane(track, span.fromNs);
    lane.endNs = Math.max(lane.endNs, span.toNs);
    const { name } = track;
    const common = { name, cat, pid: PID, tid: lane.tid, ts: this.#at(span.fromNs), args: argsOf(span) };
    if (span.fromNs === span.toNs) return [...named, { ...common, ph: "i", s: "t" }];
    return [...named, { ...common, ph: "X", dur: (span.toNs - span.fromNs) / 1000 }];
  }

  #wait(track: Track, span: FrameSpan): readonly TraceEvent[] {
    const { lane, named } = this.#lane(track, Number.POSITIVE_INFINITY);
    const common = {
      name: track.name,
      cat: "queue",
      pid: PID,
      tid: lane.tid,
      id: this.#nextWait++,
      args: argsOf(span),
    };
    const ts = this.#at(span.toNs);
    return [
      ...named,
      { ...common, ph: "b", ts: this.#at(span.fromNs) },
      { ...common, ph: "e", ts },
      { name: `${track.name} level`, ph: "C", pid: PID, ts, args: { frames: span.queued ?? 0 } },
    ];
  }

  /** The first lane that is free at that time, with the events that name a new one. */
  #lane(track: Track, fromNs: number): { readonly lane: Lane; readonly named: readonly TraceEvent[] } {
    const { name, sortIndex, lanes } = track;
    // Not at the same nanosecond: microseconds may be rounded.
    const free = lanes.find(({ endNs }) => endNs < fromNs);
    if (free !== undefined) return { lane: free, named: [] };
    // Perfetto sorts threads by their ids, other viewers by `thread_sort_index`.
    const lane = { tid: FIRST_TID + sortIndex + lanes.length, endNs: Number.NEGATIVE_INFINITY };
    const nth = lanes.push(lane);
    const common = { ph: "M", pid: PID, tid: lane.tid } as const;
    return {
      lane,
      named: [
        { ...common, name: "thread_name", args: { name: nth === 1 ? name : `${name} (${nth})` } },
        { ...common, name: "thread_sort_index", args: { sort_index: sortIndex + nth - 1 } },
      ],
    };
  }

  #at(ns: number): number {
    return (ns - this.#originNs) / 1000;
  }
}

const argsOf = ({ ptsNs }: Pick<FrameSpan, "ptsNs">): FrameArgs => ({ pts_ms: ptsNs === null ? null : ptsNs / 1e6 });
