/** What the server must know and may not find out itself: it loads neither elements nor GStreamer nor models. */
import { fileURLToPath } from "node:url";
import { loadElements } from "../../elements/index.ts";
import { listCardFiles } from "../../models/find-card.ts";
import { isInstalled } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import type { ServerKnowledge } from "../../server/main.ts";
import { readVersion } from "../version.ts";
import { readRegistry } from "./read-registry.ts";

const FRESH_MS = 2_000;

export async function gatherKnowledge(): Promise<ServerKnowledge> {
  return {
    softwareVersion: readVersion(),
    elements: await loadElements(),
    readRegistry,
    modelNames: remember(listInstalled),
    runnerEntry: new URL("../../graphs/runtime/runner/runner.mjs", import.meta.url),
    probeEntry: new URL("../../graphs/runtime/probe/probe.mjs", import.meta.url),
    hubEntry: new URL("../../hub/hub.mjs", import.meta.url),
    consoleFolder: fileURLToPath(new URL("../../build/console/", import.meta.url)),
  };
}

/** Only those whose weights are there; a card that is faulty is none. */
async function listInstalled(): Promise<readonly string[]> {
  const found = listCardFiles().map(async ({ name, file, origin }) => {
    try {
      return (await isInstalled({ card: readCard(file), file, origin, askedFor: name })) ? [name] : [];
    } catch {
      return [];
    }
  });
  return (await Promise.all(found)).flat();
}

/** Every start of a process asks; a model that was imported a moment ago may be seen a moment later. */
function remember<T>(find: () => Promise<T>): () => Promise<T> {
  let known: { readonly atMs: number; readonly value: Promise<T> } | null = null;
  return () => {
    const nowMs = performance.now();
    if (known === null || nowMs - known.atMs > FRESH_MS) known = { atMs: nowMs, value: find() };
    return known.value;
  };
}
