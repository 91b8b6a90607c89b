/** What the command line gives to the server, for tests: the elements, GStreamer and models of this machine. */
import { listInstalled } from "../../cli/models/summary.ts";
import { readRegistry } from "../../cli/serve/registry.ts";
import { loadElements } from "../../elements/index.ts";
import type { GraphKnowledge } from "./library.ts";

let known: Promise<GraphKnowledge> | null = null;

/** Read once in a process: to find the description of GStreamer's elements takes digests of several megabytes. */
export function loadTestKnowledge(): Promise<GraphKnowledge> {
  known ??= load();
  return known;
}

async function load(): Promise<GraphKnowledge> {
  const [elements, registry] = await Promise.all([loadElements(), readRegistry()]);
  return { elements, readRegistry: async () => registry, listModels: () => listInstalled() };
}
