/** Runs a launch line to its end, with elements that measure besides the built-in ones. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Type } from "typebox";
import { loadKnowledge } from "../../../cli/compile-graph.ts";
import { type AnyElement, defineElement, type Frame } from "../../../elements/element.ts";
import { compileLaunch } from "../../../graphs/compiler/compile.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";

type Look = (frame: Frame) => undefined | "drop" | Promise<void> | void;

const seeing = (kind: "transform" | "sink") => (name: string, process: Look) =>
  defineElement({
    kind,
    name,
    about: "Bench: looks at frames.",
    example: "",
    caps: "ANY",
    properties: Type.Object({}),
    create: () => ({ process }),
  });
export const passing = seeing("transform");
export const ending = seeing("sink");

/** Rejects with what broke. `frames`: so many of the source's. */
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

// How long the main thread kept its events waiting.
/** Milliseconds between two looks; what the histogram holds includes them. */
const RESOLUTION_MS = 1;

/** Starts to measure; the function ends it and gives the 99th percentile in milliseconds. */
export function measureLoopDelay(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return () => {
    histogram.disable();
    return Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS);
  };
}

// Frames out against frames in, of a stream that is taken in the middle: neither its start nor its end counts. Pure.
export interface Passage {
  readonly arrivedMs: number;
  /** Null: it never left. */
  readonly leftMs: number | null;
}

export interface Throughput {
  /** The lower of two: how many of the frames that came have left, and how fast they left against how fast they came. */
  readonly kept: number;
  readonly inFps: number;
  readonly outFps: number;
}

/** Of the frames, at either end. */
const LEFT_OUT = 0.2;

/** `frames` in the order in which they came. */
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
 * Milliseconds between departures for each between arrivals, by least squares: frames leave in bursts, one a look, and
 * from the first to the last of them would depend on where in a burst these two are.
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
