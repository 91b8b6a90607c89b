/** --watch: replaces the code of elements of the workspace in the running graph, between two frames. */
import { stopBuilding } from "../../elements/build.ts";
import type { LoadedElements } from "../../elements/index.ts";
import { reloadElements as reloadAll } from "../../graphs/runtime/reload-elements.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { showFaults } from "../faults.ts";
import type { Terminal } from "../terminal.ts";
import { formatChange, type GraphOrigin } from "./reload.ts";
import type { Reporter } from "./reporter.ts";

export interface ReloadDeps {
  readonly graph: Pick<RunningGraph, "apply" | "replace">;
  readonly elements: LoadedElements;
  readonly origin: GraphOrigin;
  readonly reporter: Reporter;
  readonly terminal: Terminal;
}

/** Never rejects. An element that does not load, or does not fit the graph, continues with its old code. */
export async function reloadElements({ graph, elements, origin, reporter, terminal }: ReloadDeps): Promise<void> {
  for (const outcome of await reloadAll({ graph, elements, compile: origin.compile }))
    if (outcome.type === "reloaded") {
      const count = `${outcome.handlers} ${outcome.handlers === 1 ? "handler" : "handlers"} replaced`;
      reporter.note(`reloaded ${outcome.file}: ${count}`, outcome);
    } else if (outcome.type === "restored") {
      reporter.note(`${outcome.file} is the code that runs`, outcome);
    } else if (outcome.type === "changed") {
      reporter.note(formatChange(outcome.change), { type: "changed", ...outcome.change } as never);
    } else {
      const { element, reason, faults } = outcome;
      showFaults(faults, origin.textOf, terminal);
      const record = { type: "not-reloaded", element, reason };
      reporter.warn(`not reloaded: ${reason}; "${element}" continues with its old code`, record);
    }
  await stopBuilding();
}
