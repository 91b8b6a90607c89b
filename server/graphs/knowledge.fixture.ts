/** What the command line gives to the server, for tests: the elements, GStreamer and models of this machine. */
import { listInstalled } from "../../cli/models/summary.ts";
import { readRegistry } from "../../cli/serve/registry.ts";
import { loadElements } from "../../elements/index.ts";
import type { GraphKnowledge } from "./library.ts";

export async function loadTestKnowledge(): Promise<GraphKnowledge> {
  const elements = await loadElements();
  return {
    elements,
    readRegistry,
    listModels: () => listInstalled(),
  };
}
