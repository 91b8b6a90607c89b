/**
 * Compiles in a worker thread: a graph takes tens of milliseconds, and a malicious one (such as a pattern with endless
 * backtracking) can be stopped with its thread. One request at a time.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadElements } from "../../../elements/index.ts";
import { RegistryFile } from "../registry-file.ts";
import { answer, type CompilerDeps } from "./answer.ts";
import { CheckCache, InstalledGraphs } from "./installed.ts";
import type { CompileRequest, CompilerKnowledge } from "./messages.ts";

const { registryFd, folder, authorElements } = workerData as CompilerKnowledge;

const installed =
  folder === null
    ? InstalledGraphs.besides(new URL("../../", import.meta.url))
    : new InstalledGraphs([new URL(folder)]);
const deps: CompilerDeps = {
  elements: await loadElements(),
  registry: new RegistryFile(registryFd),
  installed,
  cache: new CheckCache(),
  authorElements: new Set(authorElements),
};

parentPort?.on("message", (request: CompileRequest) => parentPort?.postMessage(answer(request, deps)));
parentPort?.postMessage("ready");
