/** What the server needs from elements, GStreamer and models, none of which it may import. */
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareClip } from "../../clips/prepare-clip.ts";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { stopBuilding } from "../../elements/build.ts";
import { type LoadedElements, loadElements, omitTaken } from "../../elements/index.ts";
import { findOutside, listElementFolders, storeOutside } from "../../elements/outside.ts";
import { cacheFolder } from "../../models/cache.ts";
import type { Config } from "../../schemas/config.ts";
import { type Folders, shareFolders } from "../../schemas/folders.ts";
import type { ServerKnowledge } from "../../server/main.ts";
import { CommandFailure } from "../command.ts";
import { listInstalled } from "../models/summary.ts";
import { readVersion } from "../version.ts";
import { foldersOf } from "../workspace.ts";
import { readRegistry } from "./registry.ts";

const FRESH_MS = 2_000;

export async function gatherKnowledge(
  config: Config,
): Promise<ServerKnowledge & { readonly elements: LoadedElements }> {
  const folders = await openFolders(config);
  const installed = remember(listInstalled);
  const elements = await loadElements();
  return {
    softwareVersion: readVersion(),
    elements: elements.outside.length === 0 ? elements : omitTaken(elements, await readRegistry()),
    readRegistry,
    alertTypes: ALERT_TYPES,
    readFolders: [cacheFolder(), ...listRead(folders)],
    listModels: installed,
    classNames: async () => [...new Set((await installed()).flatMap(({ labels }) => labels))],
    runnerEntry: new URL("../../graphs/runtime/runner/runner.mjs", import.meta.url),
    probeEntry: new URL("../../graphs/runtime/probe/probe.mjs", import.meta.url),
    thumbnailEntry: new URL("../../graphs/runtime/thumbnails/thumbnails.mjs", import.meta.url),
    hubEntry: new URL("../../hub/hub.mjs", import.meta.url),
    consoleFolder: fileURLToPath(new URL("../../build/console/", import.meta.url)),
    prepareClip,
    modelCheckEntry: new URL("../../elements/detect/check/check.mjs", import.meta.url),
    enhancerEntry: new URL("../../enhance/enhance.mjs", import.meta.url),
  };
}

/** Runners cannot start programs: elements outside of Windhover are built for them. */
async function openFolders(config: Config): Promise<Folders> {
  const named = foldersOf(config);
  const folders =
    named.elements.length === 0 ? named : { ...named, built: await buildElements(named, config.data_dir) };
  shareFolders(folders);
  return folders;
}

async function buildElements(folders: Folders, dataDir: string): Promise<string> {
  const built = join(dataDir, "elements", "built.json");
  try {
    await mkdir(dirname(built), { recursive: true, mode: 0o755 });
    // Of an earlier start.
    await rm(built, { force: true });
    await storeOutside(await findOutside(folders), built);
    await stopBuilding();
    return built;
  } catch (cause) {
    throw new CommandFailure(`${built} (data_dir) cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** What runners read of them. */
const listRead = (folders: Folders): readonly string[] => [
  ...folders.graphs,
  ...folders.models,
  ...listElementFolders(folders),
  ...(folders.built === null ? [] : [dirname(folders.built)]),
];

/** Cached for two seconds: it is called at every start of a process. */
function remember<T>(find: () => Promise<T>): () => Promise<T> {
  let known: { readonly atMs: number; readonly value: Promise<T> } | null = null;
  return () => {
    const nowMs = performance.now();
    if (known === null || nowMs - known.atMs > FRESH_MS) known = { atMs: nowMs, value: find() };
    return known.value;
  };
}
