/**
 * The workspace: the nearest folder, from the working directory upwards, with a `windhover.yaml`. It is the configuration
 * of a service that is started there, too: both find the same graphs, elements and models.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../schemas/config.ts";
import { type Folders, NO_FOLDERS, SETTINGS_FILE, shareFolders } from "../schemas/folders.ts";
import type { Command } from "./command.ts";

export function findWorkspace(folder: string = process.cwd()): string | null {
  if (existsSync(join(folder, SETTINGS_FILE))) return folder;
  return dirname(folder) === folder ? null : findWorkspace(dirname(folder));
}

/** What `loadConfig` reads: the file given with --config, else that of the workspace. */
export const configSources = (file: string | undefined) => ({
  file: file ?? null,
  folder: (file === undefined ? findWorkspace() : null) ?? process.cwd(),
  env: process.env,
});

export const foldersOf = ({ graphs, elements, models }: Config): Folders => ({
  graphs: graphs.folders,
  elements: elements.folders,
  models: models.folders,
  built: null,
  isWatched: elements.watch,
});

/** Commands with the option --config read the configuration themselves. */
export async function openWorkspaceFor({ options, standalone }: Command): Promise<void> {
  if (!("config" in options) && !standalone) await openWorkspace();
}

/** Makes graphs, elements and models of the workspace known. Throws `ConfigFaults`. */
export async function openWorkspace(): Promise<void> {
  if (findWorkspace() === null) return shareFolders(NO_FOLDERS);
  // Loaded here: most commands run without a workspace.
  const { loadConfig } = await import("../server/config/load.ts");
  shareFolders(foldersOf(loadConfig(configSources(undefined)).config));
}
