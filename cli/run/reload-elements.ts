/** --watch: replaces the code of elements of the workspace in the running graph, between two frames. */
import { stopBuilding } from "../../elements/build.ts";
import type { AnyElement } from "../../elements/element.ts";
import { type LoadedElements, reloadElement } from "../../elements/index.ts";
import type { OutsideElement } from "../../elements/outside.ts";
import type { Compiled } from "../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { showFaults } from "../faults.ts";
import type { Terminal } from "../terminal.ts";
import { type GraphOrigin, reportChanges } from "./reload.ts";
import type { Reporter } from "./reporter.ts";

export interface ReloadDeps {
  readonly graph: Pick<RunningGraph, "apply" | "replace" | "state">;
  /** Changed: graphs are compiled with the new elements from now on. */
  readonly elements: LoadedElements;
  readonly origin: GraphOrigin;
  readonly reporter: Reporter;
  readonly terminal: Terminal;
}

/** Never rejects. An element that does not load, or does not fit the graph, continues with its old code. */
export async function reloadElements(deps: ReloadDeps): Promise<void> {
  for (const found of deps.elements.outside) {
    const outcome = await reloadElement(found);
    if (outcome === null) continue;
    if ("reason" in outcome) reject(found, `${outcome.place}: ${outcome.reason}`, deps);
    else await applyElement(found, outcome, deps);
  }
  await stopBuilding();
}

async function applyElement(found: OutsideElement, element: AnyElement, deps: ReloadDeps): Promise<void> {
  const { graph, elements, origin, reporter } = deps;
  const { name } = element;
  const old = elements.get(name);
  elements.set(name, element);
  try {
    const compiled = compileWith(deps);
    const handlers = element.kind === "composite" ? 0 : await graph.replace(element);
    elements.broken.delete(name);
    const count = `${handlers} ${handlers === 1 ? "handler" : "handlers"} replaced`;
    reporter.note(`reloaded ${found.file}: ${count}`, { type: "reloaded", element: name, handlers });
    // Defaults of its properties, or what it expands to, may differ.
    reportChanges(await graph.apply(compiled), reporter);
  } catch (error) {
    if (old === undefined) elements.delete(name);
    else elements.set(name, old);
    if (error instanceof GraphFaults) showFaults(error.faults, origin.textOf, deps.terminal);
    reject(
      found,
      error instanceof GraphFaults ? `${found.file}: it does not fit the graph` : explain(found, error),
      deps,
    );
  }
}

function compileWith({ origin }: ReloadDeps): Compiled {
  const compiled = origin.compile();
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  return compiled;
}

/** With the position in its source, if it is known. */
function explain({ file }: OutsideElement, error: unknown): string {
  const { message } = error as Error;
  const at = error instanceof GraphFailure ? error.trace[0] : undefined;
  return at === undefined ? `${file}: ${message}` : `${message} ${at}`;
}

function reject({ name }: OutsideElement, reason: string, { reporter }: ReloadDeps): void {
  reporter.warn(`not reloaded: ${reason}; "${name}" continues with its old code`, {
    ...{ type: "not-reloaded", element: name, reason },
  });
}
