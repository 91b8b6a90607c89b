/**
 * Compiles in a worker thread: a graph takes tens of milliseconds, and a malicious one (such as a pattern with endless
 * backtracking) can be stopped with its thread. One request at a time.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadElements } from "../../../elements/index.ts";
import type { Registry } from "../../../schemas/registry.ts";
import { answer, type CompilerDeps } from "./answer.ts";
import { CheckCache, InstalledGraphs } from "./installed.ts";
import type { CompileRequest, CompilerKnowledge, Factories } from "./messages.ts";

const { factories, folder } = workerData as CompilerKnowledge;

const installed = new InstalledGraphs(new URL(folder ?? "../../", folder === null ? import.meta.url : undefined));
const deps: CompilerDeps = {
  elements: await loadElements(),
  registry: readRegistry(JSON.parse(factories)),
  installed,
  cache: new CheckCache(installed),
};

function readRegistry(list: Factories): Registry {
  const byName = new Map(list.map((factory) => [factory.name, factory]));
  return { list: () => list, get: (name) => byName.get(name) };
}

parentPort?.on("message", (request: CompileRequest) => parentPort?.postMessage(answer(request, deps)));
parentPort?.postMessage("ready");
