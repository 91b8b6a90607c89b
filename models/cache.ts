/** The folders for weights, conversions and the user's cards. */
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

/**
 * `WINDHOVER_CACHE_DIR`, else `windhover` in the user's cache folder. If that is not writable (a service account without
 * a home folder, or with a read-only one), `.cache` in the checkout.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const named = env.WINDHOVER_CACHE_DIR ?? "";
  if (named !== "") return resolve(named);
  const folder = userCacheFolder(env);
  return folder !== null && isWritable(folder) ? folder : join(CHECKOUT, ".cache");
}

function userCacheFolder(env: NodeJS.ProcessEnv): string | null {
  const { XDG_CACHE_HOME: xdg = "" } = env;
  // https://specifications.freedesktop.org/basedir-spec: a relative path is invalid and to be ignored.
  if (isAbsolute(xdg)) return join(xdg, "windhover");
  const home = homeFolder(env);
  return home === null ? null : join(home, ".cache/windhover");
}

/** Null for a user id without an account. The folder need not exist. */
export function homeFolder(env: NodeJS.ProcessEnv = process.env): string | null {
  const home = env.HOME ?? homeOfUser();
  return home !== null && isAbsolute(home) ? home : null;
}

function homeOfUser(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}

/** Whether the folder is writable, or can be created. */
export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch (error) {
    const parent = dirname(folder);
    return (error as NodeJS.ErrnoException).code === "ENOENT" && parent !== folder && isWritable(parent);
  }
}

interface ModelFolders {
  /** The user's cards: `NAME.yaml`. */
  readonly cards: string;
  /** Fetched files, named by digest: cards with the same weights share the file. */
  readonly weights: string;
  readonly converted: string;
}

export function modelFolders(cache: string = cacheFolder()): ModelFolders {
  const folder = join(cache, "models");
  return { cards: join(folder, "cards"), weights: join(folder, "weights"), converted: join(folder, "converted") };
}
