/** The data folder is this service's alone: nothing in it is for other users of the machine. */
import { chmod, mkdir, stat } from "node:fs/promises";
import type { Logger } from "pino";
import { StartFault } from "./start-fault.ts";

/** Of recordings, uploads and pictures, whichever of our processes writes them. */
const PRIVATE_UMASK = 0o077;

/**
 * Created, or closed to others; from now on everything that this process and its children create is closed, too. As root the private PostgreSQL runs as another user, who may pass through it to a folder
 * of its own and list nothing.
 */
export async function prepareDataFolder(folder: string, log: Logger): Promise<void> {
  const allowed = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    await mkdir(folder, { recursive: true, mode: allowed });
  } catch (cause) {
    throw new StartFault(`The data folder ${folder} (data_dir) cannot be made: ${(cause as Error).message}`, { cause });
  }
  await close(folder, allowed, log);
  process.umask(PRIVATE_UMASK);
}

/** A folder in it, with what is in it: files that an earlier version left readable are closed by their folder. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

async function close(folder: string, allowed: number, log: Logger): Promise<void> {
  const mode = (await stat(folder)).mode & 0o777;
  const wanted = allowed | 0o700;
  if (mode === wanted) return;
  await chmod(folder, wanted).catch((error: Error) =>
    log.warn(
      { folder, mode: mode.toString(8), reason: error.message },
      "data folder is open to other users of this machine; change its owner to the user of the service, or its mode",
    ),
  );
}
