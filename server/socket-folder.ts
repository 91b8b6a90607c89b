/** Folders of one run of the service, which only this user may enter. Those of servers that were killed are removed by the next one. */
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isAlive } from "./is-alive.ts";

/** Of this process. In a container a server often has the number of the one before: a number alone proves nothing. */
const ours = new Set<string>();

/** By default below that for temporary files: the path of a socket must be short. */
export async function makeSocketFolder(prefix: string, parent = tmpdir()): Promise<string> {
  await removeAbandoned(prefix, parent);
  const folder = await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  ours.add(basename(folder));
  await chmod(folder, 0o700);
  return folder;
}

async function removeAbandoned(prefix: string, parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const pid = Number(name.slice(prefix.length).split("-")[0]);
    // Not of a server.
    if (!Number.isInteger(pid)) continue;
    if (pid === process.pid ? ours.has(name) : isAlive(pid)) continue;
    // Another user's stays.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}
