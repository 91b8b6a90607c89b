/** From the words of the command line to a recording: what `record` writes and `check` compares with. */

import { compile } from "../../graphs/compiler/compile.ts";
import { coerceParams } from "../../graphs/compiler/schema-check.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { GraphWords } from "../arguments.ts";
import { CommandFailure } from "../command.ts";
import { expectParams, expectSource } from "../command-line-faults.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { loadKnowledge } from "../knowledge.ts";
import { expectFile } from "../run/source-file.ts";
import { showFaults } from "../show-faults.ts";
import type { Terminal } from "../terminal.ts";
import { collect } from "./collect.ts";
import type { Golden } from "./golden.ts";
import { identify } from "./identify.ts";

export interface RecordingOrder {
  readonly graph: string;
  readonly clip: string;
  /** As written on the command line. */
  readonly params: GraphWords["params"];
  /** As a golden has kept them; `params` go before. */
  readonly kept?: JsonRecord;
  readonly frames: number | null;
}

/** Null when the graph has faults; they have been shown. */
export async function makeRecording(order: RecordingOrder, terminal: Terminal): Promise<Golden | null> {
  const { graph, clip, frames } = order;
  expectFile(clip);
  const files = new GraphFiles(locateGraph(graph));
  const knowledge = await loadKnowledge(terminal);
  const source = { uri: clip, pace: "fast" } as const;
  expectSource(clip, knowledge.registry);
  const read = (params: JsonRecord, mode: "run" | "check") =>
    compile(files.read(), { ...knowledge, source, load: files.loader(), params, mode });
  const params = { ...order.kept, ...coerceParams(read({}, "check").paramSchema, order.params) };
  const compiled = read(params, "run");
  expectParams(compiled.faults, order.params);
  showFaults(compiled.faults, (file) => files.textOf(file), terminal);
  const { plan } = compiled;
  if (plan === null) return null;
  const header = await identify(plan, clip, params, frames);
  const said = await collect(compiled, plan, frames, knowledge, terminal);
  if (said.length === 0)
    throw new CommandFailure(
      `the graph "${plan.graph}" sent no message on ${clip}: there is nothing to keep; a graph with the element \`detections\` sends some`,
    );
  return { header, said };
}
