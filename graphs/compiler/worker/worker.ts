/**
 * Compiles on a thread of its own: a graph costs tens of milliseconds, and one that somebody made to cost more (a pattern
 * that never ends, say) can be ended with its thread. One request at a time.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadElements } from "../../../elements/index.ts";
import type { Registry } from "../../../schemas/registry.ts";
import { answer, type CompilerWorld } from "./answer.ts";
import { InstalledGraphs } from "./installed.ts";
import { GraphMemory } from "./memory.ts";
import type { CompileRequest, CompilerKnowledge, Factories } from "./messages.ts";

const { factories, folder } = workerData as CompilerKnowledge;

const installed = new InstalledGraphs(new URL(folder ?? "../../", folder === null ? import.meta.url : undefined));
const world: CompilerWorld = {
  elements: await loadElements(),
  registry: readRegistry(JSON.parse(factories)),
  installed,
  memory: new GraphMemory(installed),
};

function readRegistry(list: Factories): Registry {
  const byName = new Map(list.map((factory) => [factory.name, factory]));
  return { list: () => list, get: (name) => byName.get(name) };
}

parentPort?.on("message", (request: CompileRequest) => parentPort?.postMessage(answer(request, world)));
parentPort?.postMessage("ready");
