import { execFile } from "node:child_process";
import { readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DatabaseFault } from "./fault.ts";
import { type Account, programEnvironment } from "./postgres-account.ts";
import type { Place } from "./postgres-place.ts";
import type { Programs } from "./postgres-programs.ts";

const run = promisify(execFile);
const UNFINISHED = "new-";

/** Makes an empty database. It gets its name when it is whole; what was begun and not finished is removed. */
export async function initialise(
  place: Place,
  programs: Programs,
  account: Account,
  { limitMs, isSynced }: { readonly limitMs: number; readonly isSynced: boolean },
): Promise<void> {
  await removeUnfinished(place.folder);
  // Only if it is empty: what it holds otherwise is not ours to remove.
  await rmdir(place.dataFolder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return;
    throw new DatabaseFault(
      `${place.dataFolder} is there and holds no PostgreSQL database. Move it away and start again.`,
      { cause },
    );
  });
  const unfinished = join(place.folder, `${UNFINISHED}${process.pid}`);
  const [program, args] = account.command(
    programs.initdb,
    ...["--pgdata", unfinished, "--username", "windhover", "--encoding", "UTF8", "--locale", "C"],
    ...["--auth-local", "trust", "--auth-host", "reject", "--data-checksums", "--no-instructions"],
    ...(isSynced ? [] : ["--no-sync"]),
  );
  try {
    await run(program, [...args], { cwd: "/", env: programEnvironment(), timeout: limitMs, killSignal: "SIGINT" });
    await rename(unfinished, place.dataFolder);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    const { stderr = "", message } = cause as Error & { stderr?: string };
    const said = stderr.trim().split("\n").slice(-5).join("\n") || message;
    throw new DatabaseFault(`A database could not be made in ${place.folder}:\n${said}`, { cause });
  }
}

/** Whoever began it is gone: there is one start at a time. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
