/** Folders for Unix sockets, which only this user may enter. Those of servers that were killed are removed by the next one. */
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isAlive } from "./is-alive.ts";

/** Of this process. In a container a server often has the number of the one before: a number alone tells nothing. */
const ours = new Set<string>();

/** Below that for temporary files: the path of a socket must be short. */
export async function makeSocketFolder(prefix: string): Promise<string> {
  await removeAbandoned(prefix);
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  ours.add(basename(folder));
  await chmod(folder, 0o700);
  return folder;
}

async function removeAbandoned(prefix: string): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const pid = Number(name.slice(prefix.length).split("-")[0]);
    // Not of a server.
    if (!Number.isInteger(pid)) continue;
    if (pid === process.pid ? ours.has(name) : isAlive(pid)) continue;
    // Another user's stays.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}
