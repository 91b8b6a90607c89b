/** Runs a launch line to its end, with elements that measure besides the built-in ones. */
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
