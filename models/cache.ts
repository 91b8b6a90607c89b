/** Where weights, conversions and cards of the user are kept. */
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

/**
 * `WINDHOVER_CACHE_DIR` as it is, else `windhover` in the user's cache folder. Where that cannot be written (a service
 * account without a home, a read-only one) `.cache` in the checkout.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const named = env.WINDHOVER_CACHE_DIR ?? "";
  if (named !== "") return resolve(named);
  const folder = userCacheFolder(env);
  return folder !== null && canBeWritten(folder) ? folder : join(CHECKOUT, ".cache");
}

function userCacheFolder(env: NodeJS.ProcessEnv): string | null {
  const { XDG_CACHE_HOME: xdg = "" } = env;
  // https://specifications.freedesktop.org/basedir-spec: a relative path is invalid and to be ignored.
  if (isAbsolute(xdg)) return join(xdg, "windhover");
  const home = homeFolder(env);
  return home === null ? null : join(home, ".cache/windhover");
}

/** Null for a user id without a name. It need not be there. */
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

/** Whether it is there and open to us, or could be made. */
export function canBeWritten(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch (error) {
    const parent = dirname(folder);
    return (error as NodeJS.ErrnoException).code === "ENOENT" && parent !== folder && canBeWritten(parent);
  }
}

export interface Places {
  /** Cards of the user: `NAME.yaml`. */
  readonly cards: string;
  /** What was fetched, by its digest: cards that share weights share the file. */
  readonly weights: string;
  readonly converted: string;
}

export function modelPlaces(cache: string = cacheFolder()): Places {
  const folder = join(cache, "models");
  return { cards: join(folder, "cards"), weights: join(folder, "weights"), converted: join(folder, "converted") };
}
