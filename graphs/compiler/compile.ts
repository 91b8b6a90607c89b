/** The compiler: text → document → plan. Pure, and never throws for a wrong graph: all its faults are in the result. */
import { type Compiled, type PlanInput, planDocument, rejectGraph } from "./document-to-plan.ts";
import { readGraph } from "./extend-document.ts";
import { FaultList } from "./fault.ts";
import type { GraphText, LoadGraph } from "./graph-levels.ts";
import { checkTests } from "./graph-tests.ts";
import { readLaunch } from "./launch-to-document.ts";

export type { Compiled } from "./document-to-plan.ts";

export interface CompileInput extends PlanInput {
  /** Loads the graph that `extends` names. */
  readonly load?: LoadGraph;
}

/** A graph in YAML. */
export function compile(text: GraphText, input: CompileInput): Compiled {
  const faults = new FaultList(text.file);
  const document = readGraph(text, { load: input.load ?? (() => undefined), elements: input.elements }, faults);
  if (document === null) return rejectGraph(faults);
  checkTests(document, faults);
  return planDocument(document, input, faults);
}

/** A launch line, such as `source uri=clip.mp4 ! decode ! print`. Positions of faults are columns of the line. */
export function compileLaunch(line: string, input: CompileInput): Compiled {
  const faults = new FaultList(null);
  const document = readLaunch(line, faults);
  return document === null ? rejectGraph(faults) : planDocument(document, input, faults);
}
