/**
 * Folders of graphs, elements and models besides those that come with Windhover: of a workspace, or from the configuration
 * of the service. Threads and child processes receive them in the environment.
 */
export interface Folders {
  /** `NAME.yaml`. An earlier folder has precedence, and all of them over Windhover's. */
  readonly graphs: readonly string[];
  /** `NAME/NAME.ts`, and npm packages beside each folder. */
  readonly elements: readonly string[];
  /** Cards: `NAME.yaml`. */
  readonly models: readonly string[];
  /** The elements as built by the service, for programs that cannot build them; null: they are built when loaded. */
  readonly built: string | null;
  /** `built` changes while the service runs. */
  readonly isWatched: boolean;
}

/** The configuration. Its folder is a workspace. */
export const SETTINGS_FILE = "windhover.yaml";

export const FOLDERS_VARIABLE = "WINDHOVER_FOLDERS";

/** Without a workspace. */
export const NO_FOLDERS: Folders = { graphs: [], elements: [], models: [], built: null, isWatched: false };

export function readFolders(env: NodeJS.ProcessEnv = process.env): Folders {
  const text = env[FOLDERS_VARIABLE] ?? "";
  return text === "" ? NO_FOLDERS : (JSON.parse(text) as Folders);
}

/** For this process, and for threads and processes that it starts from now on. */
export function shareFolders(folders: Folders): void {
  process.env[FOLDERS_VARIABLE] = JSON.stringify(folders);
}
