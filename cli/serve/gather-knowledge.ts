/** What the server must know and may not find out itself: it loads neither elements nor GStreamer nor models. */
import { fileURLToPath } from "node:url";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { loadElements } from "../../elements/index.ts";
import { cacheFolder } from "../../models/cache.ts";
import { listCardFiles } from "../../models/find-card.ts";
import { isInstalled, labelsOf } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import type { ServerKnowledge } from "../../server/main.ts";
import { readVersion } from "../version.ts";
import { readRegistry } from "./registry.ts";

const FRESH_MS = 2_000;

interface InstalledModel {
  readonly name: string;
  readonly labels: readonly string[];
}

export async function gatherKnowledge(): Promise<ServerKnowledge> {
  const installed = remember(listInstalled);
  return {
    softwareVersion: readVersion(),
    elements: await loadElements(),
    readRegistry,
    modelNames: async () => (await installed()).map(({ name }) => name),
    alertTypes: ALERT_TYPES,
    modelFolders: [cacheFolder()],
    classNames: async () => [...new Set((await installed()).flatMap(({ labels }) => labels))],
    runnerEntry: new URL("../../graphs/runtime/runner/runner.mjs", import.meta.url),
    probeEntry: new URL("../../graphs/runtime/probe/probe.mjs", import.meta.url),
    hubEntry: new URL("../../hub/hub.mjs", import.meta.url),
    consoleFolder: fileURLToPath(new URL("../../build/console/", import.meta.url)),
    clipEntry: new URL("../../clips/clip.mjs", import.meta.url),
    enhancerEntry: new URL("../../enhance/enhance.mjs", import.meta.url),
  };
}

/** Only those whose weights are there; a card that is faulty is none. */
async function listInstalled(): Promise<readonly InstalledModel[]> {
  const found = listCardFiles().map(async ({ name, file, origin }) => {
    try {
      const card = readCard(file);
      const isThere = await isInstalled({ card, file, origin, askedFor: name });
      return isThere ? [{ name, labels: labelsOf(card) }] : [];
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
