/** Measuring tools for the programs of `bench detect`: a launch line, event loop delay, throughput. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Type } from "typebox";
import { loadKnowledge } from "../../../cli/compile-graph.ts";
import { type AnyElement, defineElement, type Frame } from "../../../elements/element.ts";
import { compileLaunch } from "../../../graphs/compiler/compile.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";

type Process = (frame: Frame) => undefined | "drop" | Promise<void> | void;

const measuring = (kind: "transform" | "sink") => (name: string, process: Process) =>
  defineElement({
    kind,
    name,
    about: "Measures frames.",
    example: "",
    caps: "ANY",
    properties: Type.Object({}),
    create: () => ({ process }),
  });
export const passing = measuring("transform");
export const ending = measuring("sink");

/** Runs a launch line with additional elements to its end, or for `frames` frames. */
export async function runLine(line: string, extra: readonly AnyElement[], frames?: number): Promise<void> {
  const knowledge = await loadKnowledge(null);
  const named = extra.map((element) => [element.name, element] as const);
  const input = { ...knowledge, elements: new Map([...knowledge.elements, ...named]) };
  const graph = await RunningGraph.start(compileLaunch(line, input), {
    ...input,
    onBuilt(pipeline, _segments, origins) {
      if (frames !== undefined) for (const node of origins) pipeline.limit(node, { frames });
    },
  });
  const { error } = await graph.ended;
  if (error !== null) throw error;
}

/** Sampling interval, which the histogram includes. */
const RESOLUTION_MS = 1;

/** Starts measuring; the returned function stops and returns the 99th percentile of the event loop delay in ms. */
export function measureLoopDelay(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return () => {
    histogram.disable();
    return Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS);
  };
}

export interface Passage {
  readonly arrivedMs: number;
  /** Null if it was lost. */
  readonly leftMs: number | null;
}

export interface Throughput {
  /** The lower of two: the share of frames that left, and their rate relative to the arrivals. */
  readonly kept: number;
  readonly inFps: number;
  readonly outFps: number;
}

/** Share of the frames ignored at either end. */
const LEFT_OUT = 0.2;

/** Frames out compared with frames in, in the middle of a stream. `frames` are in the order of arrival. */
export function measureThroughput(frames: readonly Passage[]): Throughput {
  const edge = Math.floor(frames.length * LEFT_OUT);
  const middle = frames.slice(edge, frames.length - edge);
  const passed = middle.flatMap(({ arrivedMs, leftMs }) => (leftMs === null ? [] : [{ arrivedMs, leftMs }]));
  const spanMs = (middle.at(-1)?.arrivedMs ?? 0) - (middle[0]?.arrivedMs ?? 0);
  const inFps = ((middle.length - 1) * 1000) / spanMs;
  const share = passed.length / middle.length;
  const outFps = (share * inFps) / fitSlope(passed);
  return { kept: Math.min(share, outFps / inFps), inFps, outFps };
}

/**
 * Slope of the departure times over the arrival times, by least squares: frames leave in bursts, one per inference, so the
 * first and the last frame alone would depend on their place in a burst.
 */
function fitSlope(passed: readonly { readonly arrivedMs: number; readonly leftMs: number }[]): number {
  const arrivedMs = mean(passed.map((frame) => frame.arrivedMs));
  const leftMs = mean(passed.map((frame) => frame.leftMs));
  let together = 0;
  let alone = 0;
  for (const frame of passed) {
    together += (frame.arrivedMs - arrivedMs) * (frame.leftMs - leftMs);
    alone += (frame.arrivedMs - arrivedMs) ** 2;
  }
  return together / alone;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Records the milliseconds that the work takes. */
async function time(list: number[], work: () => unknown): Promise<void> {
  const startedMs = performance.now();
  await work();
  list.push(performance.now() - startedMs);
}

/** Wraps an element and records the time of its handler per frame. */
export function timed(element: AnyElement, times: number[]): AnyElement {
  if (element.kind !== "transform") throw new Error(`${element.name} is not a transform`);
  const { create } = element;
  return defineElement({
    ...element,
    async create(properties, services) {
      const handler = await create(properties, services);
      return { process: (frame: Frame) => time(times, () => handler.process(frame)) };
    },
  });
}
