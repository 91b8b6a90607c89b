/** The graph `detect`, as it stands, on a clip; watched. */

import { CommandFailure } from "../../../cli/command.ts";
import type { Knowledge } from "../../../cli/compile-graph.ts";
import { describeFailure } from "../../../cli/faults.ts";
import { GraphFiles, locateGraph } from "../../../cli/graph-files.ts";
import { onInterrupt } from "../../../cli/run/interrupt.ts";
import { type Compiled, compile } from "../../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { GraphFailure } from "../../../graphs/runtime/events.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";
import { AFTER_DETECT, AFTER_TRACK, LEAST_CONFIDENCE, Watch, type WatchedFrame } from "./watch.ts";

const makeVariant = (weak: number): string => `
graph: eval-clip
about: The graph detect, watched.
extends: detect
set:
  detect: { weak: ${weak} }
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
}

export interface ClipOrder {
  readonly clip: string;
  /** A name, or the path of a card. */
  readonly model: string;
  /** What the card of the model says. */
  readonly weak: number;
  onFrame(count: number): void;
}

/** Throws `CommandFailure` for a clip that cannot be played and for a graph that breaks. */
export async function runClip(
  { clip, model, weak, onFrame }: ClipOrder,
  { registry, elements: known }: Knowledge,
): Promise<ClipRun> {
  const watch = new Watch(weak, onFrame);
  const elements = new Map([...known, ...watch.elements.map((element) => [element.name, element] as const)]);
  const knowledge = { registry, elements };
  const compiled = compileVariant(clip, model, Math.min(weak, LEAST_CONFIDENCE), knowledge);
  await play(compiled, knowledge);
  const { frames, firstMs, lastMs } = watch;
  if (frames.length === 0) throw new CommandFailure(`${clip} has no frames`);
  return { frames, framesPerSecond: (Math.max(1, frames.length - 1) / Math.max(lastMs - firstMs, 1e-3)) * 1000 };
}

function compileVariant(clip: string, model: string, weak: number, { elements, registry }: Knowledge): Compiled {
  const load = new GraphFiles(locateGraph("detect")).loader();
  const source = { uri: clip, pace: "fast" } as const;
  return compile({ file: null, text: makeVariant(weak) }, { elements, registry, load, source, params: { model } });
}

async function play(compiled: Compiled, knowledge: Knowledge): Promise<void> {
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  const cut = new AbortController();
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
    cut.abort();
  };
  const deafen = onInterrupt(interrupt, interrupt);
  let failure: GraphFailure | null;
  try {
    const graph = await RunningGraph.start(compiled, { ...knowledge, signal: cut.signal, send: async () => {} });
    failure = (await graph.ended).error;
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    failure = error;
  } finally {
    deafen();
  }
  if (isInterrupted) throw new CommandFailure("interrupted: nothing was scored");
  if (failure !== null) throw new CommandFailure(await describeFailure(failure, compiled.plan), { cause: failure });
}
