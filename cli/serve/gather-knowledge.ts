/** What the server needs from elements, GStreamer and models, none of which it may import. */
import { fileURLToPath } from "node:url";
import { prepareClip } from "../../clips/prepare-clip.ts";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { loadElements } from "../../elements/index.ts";
import { cacheFolder } from "../../models/cache.ts";
import type { ServerKnowledge } from "../../server/main.ts";
import { listInstalled } from "../models/summary.ts";
import { readVersion } from "../version.ts";
import { readRegistry } from "./registry.ts";

const FRESH_MS = 2_000;

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
    thumbnailEntry: new URL("../../graphs/runtime/thumbnails/thumbnails.mjs", import.meta.url),
    hubEntry: new URL("../../hub/hub.mjs", import.meta.url),
    consoleFolder: fileURLToPath(new URL("../../build/console/", import.meta.url)),
    prepareClip,
    enhancerEntry: new URL("../../enhance/enhance.mjs", import.meta.url),
  };
}

/** Cached for two seconds: it is called at every start of a process. */
function remember<T>(find: () => Promise<T>): () => Promise<T> {
  let known: { readonly atMs: number; readonly value: Promise<T> } | null = null;
  return () => {
    const nowMs = performance.now();
    if (known === null || nowMs - known.atMs > FRESH_MS) known = { atMs: nowMs, value: find() };
    return known.value;
  };
}
