/** Objects that the graph `detect` finds in a clip, each with the picture that its report would have. */
import { basename } from "node:path";
import { CommandFailure } from "../../../cli/command.ts";
import type { Knowledge } from "../../../cli/compile-graph.ts";
import { describeFailure } from "../../../cli/faults.ts";
import { GraphFiles, locateGraph } from "../../../cli/graph-files.ts";
import { onInterrupt } from "../../../cli/run/interrupt.ts";
import { decodePicture } from "../../../enhance/picture.ts";
import { compile } from "../../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { GraphFailure } from "../../../graphs/runtime/events.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import { TRACK_REPORT_CHANNEL, type TrackReport } from "../../../schemas/track-report.ts";
import type { EvalPatch } from "./patch.ts";
import type { Wanted } from "./wanted.ts";

const GRAPH = `
graph: eval-enhance
about: The graph detect, for the pictures of its report.
extends: detect
`;

/** Throws `CommandFailure` for a clip that cannot be played. */
export async function findPatches(
  clip: string,
  model: string,
  { classNames, leastPixels }: Wanted,
  knowledge: Knowledge,
): Promise<readonly EvalPatch[]> {
  const found = new Map<number, EvalPatch>();
  const hear = async (_: string, channel: string, message: JsonRecord): Promise<void> => {
    if (channel !== TRACK_REPORT_CHANNEL) return;
    for (const { id, className, patch } of (message as TrackReport).tracks)
      if (patch !== undefined) found.set(id, { name: `${basename(clip)} track ${id}`, className, jpeg: patch.jpeg });
  };
  await play(clip, model, hear, knowledge);
  return [...found.values()].filter((patch) => classNames.includes(patch.className) && isLarge(patch, leastPixels));
}

function isLarge({ jpeg }: EvalPatch, leastPixels: number): boolean {
  const picture = decodePicture(Buffer.from(jpeg, "base64"));
  return picture !== null && Math.max(picture.width, picture.height) >= leastPixels;
}

async function play(
  clip: string,
  model: string,
  send: (node: string, channel: string, message: JsonRecord) => Promise<void>,
  knowledge: Knowledge,
): Promise<void> {
  const load = new GraphFiles(locateGraph("detect")).loader();
  const source = { uri: clip, pace: "fast" } as const;
  const compiled = compile({ file: null, text: GRAPH }, { ...knowledge, load, source, params: { model } });
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  const cut = new AbortController();
  const deafen = onInterrupt(
    () => cut.abort(),
    () => cut.abort(),
  );
  let failure: GraphFailure | null;
  try {
    const graph = await RunningGraph.start(compiled, { ...knowledge, signal: cut.signal, send });
    failure = (await graph.ended).error;
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    failure = error;
  } finally {
    deafen();
  }
  if (cut.signal.aborted) throw new CommandFailure("interrupted: nothing was looked at");
  if (failure !== null) throw new CommandFailure(await describeFailure(failure, compiled.plan), { cause: failure });
}
