/**
 * Compiles in a worker thread: a graph takes tens of milliseconds, and a malicious one (such as a pattern with endless
 * backtracking) can be stopped with its thread. One request at a time.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadElements, omitTaken, refreshElements } from "../../../elements/index.ts";
import { readFolders } from "../../../schemas/folders.ts";
import { RegistryFile } from "../registry-file.ts";
import { answer } from "./answer.ts";
import { CheckCache, InstalledGraphs } from "./installed.ts";
import type { CompileRequest, CompilerKnowledge } from "./messages.ts";

const { registryFd, folder, authorElements } = workerData as CompilerKnowledge;

const installed =
  folder === null
    ? InstalledGraphs.besides(new URL("../../", import.meta.url))
    : new InstalledGraphs([new URL(folder)]);
const registry = new RegistryFile(registryFd);
const elements = omitTaken(await loadElements(), registry);
const fixed = { elements, registry, installed, authorElements: new Set(authorElements) };
let cache = new CheckCache();
const { isWatched } = readFolders();

parentPort?.on("message", async (request: CompileRequest) => {
  // What was compiled with other elements may be different now.
  if (isWatched && (await refreshElements(elements)).length > 0) cache = new CheckCache();
  parentPort?.postMessage(answer(request, { ...fixed, cache }));
});
parentPort?.postMessage("ready");
