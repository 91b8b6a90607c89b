/** Loads changed elements of a workspace again, and replaces their code in a running graph. */
import type { AnyElement } from "../../elements/element.ts";
import { type LoadedElements, reloadElement } from "../../elements/index.ts";
import type { OutsideElement } from "../../elements/outside.ts";
import type { Compiled } from "../compiler/compile.ts";
import { type Fault, GraphFaults } from "../compiler/fault.ts";
import type { PlanChange } from "../compiler/plan.ts";
import { GraphFailure } from "./events.ts";
import type { RunningGraph } from "./running-graph.ts";

export interface ReloadDeps {
  readonly graph: Pick<RunningGraph, "apply" | "replace">;
  /** Changed: graphs are compiled with the new elements from now on. */
  readonly elements: LoadedElements;
  /** The graph as it runs, with the elements as they are now. */
  compile(): Compiled;
}

export type Reloaded =
  | { readonly type: "reloaded"; readonly element: string; readonly file: string; readonly handlers: number }
  /** A fault is undone: it runs this code. */
  | { readonly type: "restored"; readonly element: string; readonly file: string }
  /** What follows from a reloaded element: other defaults, or another expansion of a composite. */
  | { readonly type: "changed"; readonly change: PlanChange; readonly compiled: Compiled }
  /** The element continues with its old code. `faults`: of the graph with the new one. */
  | { readonly type: "rejected"; readonly element: string; readonly reason: string; readonly faults: readonly Fault[] };

/** Never rejects. */
export async function reloadElements(deps: ReloadDeps): Promise<readonly Reloaded[]> {
  const outcomes: Reloaded[] = [];
  for (const found of deps.elements.outside) {
    const loaded = await reloadElement(found);
    if (loaded === null) {
      if (faulty.delete(found)) outcomes.push({ type: "restored", element: found.name, file: found.file });
    } else if ("reason" in loaded) {
      faulty.add(found);
      outcomes.push(rejected(found, `${loaded.place}: ${loaded.reason}`));
    } else {
      faulty.delete(found);
      outcomes.push(...(await replaceElement(found, loaded, deps)));
    }
  }
  return outcomes;
}

/** Whose files could not be loaded when they were saved last. */
const faulty = new WeakSet<OutsideElement>();

async function replaceElement(
  found: OutsideElement,
  element: AnyElement,
  { graph, elements, compile }: ReloadDeps,
): Promise<readonly Reloaded[]> {
  const { name } = element;
  const old = elements.get(name);
  elements.set(name, element);
  let compiled: Compiled;
  let handlers: number;
  try {
    compiled = compile();
    if (compiled.plan === null) throw new GraphFaults(compiled.faults);
    handlers = element.kind === "composite" ? 0 : await graph.replace(element);
  } catch (error) {
    if (old === undefined) elements.delete(name);
    else elements.set(name, old);
    if (!(error instanceof GraphFaults)) return [rejected(found, explain(found, error))];
    return [rejected(found, `${found.file}: it does not fit the graph`, error.faults)];
  }
  elements.broken.delete(name);
  const reloaded = { type: "reloaded", element: name, file: found.file, handlers } as const;
  try {
    const changes = await graph.apply(compiled);
    return [reloaded, ...changes.map((change) => ({ type: "changed", change, compiled }) as const)];
  } catch (error) {
    return [reloaded, rejected(found, `the graph could not be changed: ${(error as Error).message}`)];
  }
}

const rejected = ({ name }: OutsideElement, reason: string, faults: readonly Fault[] = []): Reloaded => ({
  ...{ type: "rejected", element: name, reason, faults },
});

/** With the position in its source, if it is known. */
function explain({ file }: OutsideElement, error: unknown): string {
  const { message } = error as Error;
  const at = error instanceof GraphFailure ? error.trace[0] : undefined;
  return at === undefined ? `${file}: ${message}` : `${message} ${at}`;
}
