/** What the command line gives to the server, for tests: the elements, GStreamer and models of this machine. */
import { readRegistry } from "../../cli/serve/registry.ts";
import { loadElements } from "../../elements/index.ts";
import { listCardFiles } from "../../models/find-card.ts";
import type { GraphKnowledge } from "./library.ts";

export async function loadTestKnowledge(): Promise<GraphKnowledge> {
  const elements = await loadElements();
  return {
    elements,
    readRegistry,
    modelNames: async () => listCardFiles().map(({ name }) => name),
  };
}
