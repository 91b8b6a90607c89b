/** Runs the graph `detect` on a clip and records detections and tracks of every frame. */

import { Type } from "typebox";
import { CommandFailure } from "../../../cli/command.ts";
import type { Knowledge } from "../../../cli/compile-graph.ts";
import { describeFailure } from "../../../cli/faults.ts";
import { GraphFiles, locateGraph } from "../../../cli/graph-files.ts";
import { onInterrupt } from "../../../cli/run/interrupt.ts";
import type { Every } from "../../../elements/detect/schedule.ts";
import { type AnyElement, defineElement, type Frame } from "../../../elements/element.ts";
import { type Compiled, compile } from "../../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { GraphFailure } from "../../../graphs/runtime/events.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";
import type { Detection, Detections, Track, Tracks } from "../../../schemas/detections.ts";

const makeVariant = (weak: number, tiles: Tiling): string => `
graph: eval-clip
about: The graph detect, with recorders.
extends: detect
set:
  detect: { weak: ${weak}${tiles === "none" ? "" : `, tiles: ${JSON.stringify(tiles)}`} }
insert:
  - after: detect
    steps: [${AFTER_DETECT}]
  - after: track
    steps: [${AFTER_TRACK}]
`;

export interface ClipRun {
  readonly frames: readonly WatchedFrame[];
  /** Of the whole graph, from the first frame to the last. */
  readonly framesPerSecond: number;
  /** Frames with inference. */
  readonly inferred: number;
  /** Of the whole clip, one for each tile. */
  readonly inferences: number;
  /** Frames that were decoded: the others have the tracks of the frame before. */
  readonly decoded: number;
  /** Processor time of this process per frame of the clip. */
  readonly cpuMs: number;
}

export const DECODED = ["all", "reference", "keyframes"] as const;
export type Decoded = (typeof DECODED)[number];

/** The property `tiles` of `detect`. */
export type Tiling = "none" | "motion" | { readonly columns: number; readonly rows: number };

export interface ClipOptions {
  readonly clip: string;
  /** A name, or the path of a card. */
  readonly model: string;
  /** Weak threshold of the model card. */
  readonly weak: number;
  /** Of `detect`; default: its own. */
  readonly every?: Every;
  /** Frames to decode; default: all. */
  readonly decode?: Decoded;
  /** Default: none. */
  readonly tiles?: Tiling;
  onFrame(count: number): void;
}

/** Throws `CommandFailure` for a clip that cannot be played and a graph that fails. */
export async function runClip(
  { clip, model, weak, every, decode, tiles = "none", onFrame }: ClipOptions,
  { registry, elements: known }: Knowledge,
): Promise<ClipRun> {
  const watch = new Watch(weak, onFrame);
  const elements = new Map([...known, ...watch.elements.map((element) => [element.name, element] as const)]);
  const knowledge = { registry, elements };
  const params = { model, ...(every !== undefined && { every }), ...(decode !== undefined && { decode }) };
  const variant = makeVariant(Math.min(weak, LEAST_CONFIDENCE), tiles);
  const compiled = compileVariant(clip, params, variant, knowledge);
  const before = process.cpuUsage();
  await playGraph(compiled, knowledge);
  const { user, system } = process.cpuUsage(before);
  const { inferred, inferences, firstMs, lastMs } = watch;
  const decoded = watch.frames.length;
  if (decoded === 0) throw new CommandFailure(`${clip} has no frames`);
  const frames = decode === undefined || decode === "all" ? watch.frames : fillGaps(watch.frames);
  const framesPerSecond = (Math.max(1, frames.length - 1) / Math.max(lastMs - firstMs, 1e-3)) * 1000;
  return { frames, framesPerSecond, inferred, inferences, decoded, cpuMs: (user + system) / 1000 / frames.length };
}

/** Frames that were not decoded, by their times: each has the tracks of the frame before, as a viewer of messages has. */
export function fillGaps(frames: readonly TimedFrame[]): readonly TimedFrame[] {
  return frames.flatMap((frame, index) => {
    const next = frames[index + 1];
    const durationNs = Number(frame.durationNs ?? 0n);
    if (next === undefined || next.ptsNs === null || frame.ptsNs === null || durationNs <= 0) return [frame];
    const count = Math.max(1, Math.round(Number(next.ptsNs - frame.ptsNs) / durationNs));
    return Array<TimedFrame>(count).fill(frame);
  });
}

function compileVariant(
  clip: string,
  params: { readonly model: string; readonly every?: Every; readonly decode?: Decoded },
  variant: string,
  { elements, registry }: Knowledge,
): Compiled {
  const load = new GraphFiles(locateGraph("detect")).loader();
  const source = { uri: clip, pace: "fast" } as const;
  return compile({ file: null, text: variant }, { elements, registry, load, source, params });
}

/** Ctrl-C, before there is a result. */
export class Interrupted extends CommandFailure {
  constructor() {
    super("interrupted: the evaluation has no result");
  }
}

/** Runs a graph to its end. Throws `CommandFailure` when it fails, `Interrupted` after Ctrl-C. */
export async function playGraph(
  compiled: Compiled,
  knowledge: Knowledge,
  options: Pick<StartOptions, "send" | "onBuilt"> = {},
): Promise<void> {
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  const cut = new AbortController();
  const removeSignals = onInterrupt(
    () => cut.abort(),
    () => cut.abort(),
  );
  let failure: GraphFailure | null;
  try {
    const graph = await RunningGraph.start(compiled, {
      ...{ ...knowledge, signal: cut.signal, send: async () => {}, print: async () => {} },
      ...options,
    });
    failure = (await graph.ended).error;
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    failure = error;
  } finally {
    removeSignals();
  }
  if (cut.signal.aborted) throw new Interrupted();
  if (failure !== null) throw new CommandFailure(await describeFailure(failure, compiled.plan), { cause: failure });
}

type StartOptions = Parameters<typeof RunningGraph.start>[1];

/** Precision is measured down to this confidence. */
export const LEAST_CONFIDENCE = 0.01;

/** With its place in the clip. */
export interface TimedFrame extends WatchedFrame {
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
}

export interface WatchedFrame {
  readonly width: number;
  readonly height: number;
  /** Down to `LEAST_CONFIDENCE`. */
  readonly detections: readonly Detection[];
  readonly tracks: readonly Track[];
}

export const AFTER_DETECT = "watch-detections";
export const AFTER_TRACK = "watch-tracks";

export class Watch {
  readonly #seen: (readonly Detection[])[] = [];
  readonly frames: TimedFrame[] = [];
  inferred = 0;
  inferences = 0;
  /** Times of the first and the last frame. */
  firstMs = 0;
  lastMs = 0;
  readonly elements: readonly AnyElement[];

  /**
   * `weak` is the threshold of the model card. Detections below it are recorded and then removed, so that the tracker
   * receives what it would receive without the recorders.
   */
  constructor(weak: number, onFrame: (count: number) => void) {
    this.elements = [
      observe(AFTER_DETECT, ["detections"], ["detections"], (frame) => {
        if (this.#seen.length === 0) this.firstMs = performance.now();
        const detections = frame.meta.detections as Detections;
        if (detections.inferred) this.inferred += 1;
        this.inferences += detections.regions ?? Number(detections.inferred);
        const all = [...detections.objects, ...detections.weak];
        this.#seen.push(all.filter(({ confidence }) => confidence >= LEAST_CONFIDENCE));
        frame.write({
          detections: { ...detections, weak: detections.weak.filter(({ confidence }) => confidence >= weak) },
        });
      }),
      observe(AFTER_TRACK, ["tracks"], [], (frame) => {
        const { ptsNs, durationNs } = frame;
        const { width, height } = frame.format;
        const tracks = (frame.meta.tracks as Tracks).objects;
        const detections = this.#seen[this.frames.length] ?? [];
        this.frames.push({ ptsNs, durationNs, width, height, detections, tracks });
        this.lastMs = performance.now();
        onFrame(this.frames.length);
      }),
    ];
  }
}

const observe = (
  name: string,
  reads: readonly string[],
  writes: readonly string[],
  process: (frame: Frame) => void,
): AnyElement =>
  defineElement({
    kind: "transform",
    name,
    about: "Records detections and tracks for an evaluation.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    reads,
    writes,
    create: () => ({ process }),
  });
