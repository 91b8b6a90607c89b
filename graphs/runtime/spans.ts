/** When every frame was in which step of a running graph, at the measuring points of its statistics. */
import { SPAN } from "../../native/pipeline.ts";
import { type Metered, type MeteredStep, StepMeters } from "./step-meters.ts";

/** Times are nanoseconds of `process.hrtime`. Sources and sinks of GStreamer only have a moment: both times are equal. */
export interface FrameSpan {
  readonly ptsNs: number | null;
  readonly fromNs: number;
  readonly toNs: number;
  /** Of queues: frames in it when this one had left. */
  readonly queued: number | null;
}

export interface StepSpans extends MeteredStep {
  readonly spans: readonly FrameSpan[];
  /** Not recorded because the last reading was too long ago. */
  readonly lost: number;
}

export class SpanReader {
  readonly #meters: StepMeters;

  constructor(graph: Metered) {
    this.#meters = new StepMeters(graph, "span ");
    this.read();
  }

  /** Since the last reading, in graph order. Nothing more is recorded once `more` is false. */
  read(more = true): readonly StepSpans[] {
    const { steps } = this.#meters.place();
    const readings = this.#meters.pipeline.takeSpans(
      steps.map((step) => this.#meters.nameOf(step)),
      more,
    );
    return steps.flatMap((step) => {
      const reading = readings[this.#meters.nameOf(step)];
      return reading === undefined ? [] : [{ ...step, spans: readRows(reading.spans), lost: reading.lost }];
    });
  }
}

function readRows(numbers: Float64Array): readonly FrameSpan[] {
  return Array.from({ length: numbers.length / SPAN.length }, (_, row) => {
    const at = (column: number): number => numbers[row * SPAN.length + column] ?? 0;
    const [pts, queued] = [at(SPAN.pts), at(SPAN.queued)];
    return {
      ptsNs: Number.isNaN(pts) ? null : pts,
      fromNs: at(SPAN.from),
      toNs: at(SPAN.to),
      queued: queued < 0 ? null : queued,
    };
  });
}
