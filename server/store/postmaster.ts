/** Whether a PostgreSQL runs on a data folder, and whose it is. */
import { readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { isAlive } from "../is-alive.ts";
import { DatabaseFault } from "./fault.ts";

const OWNER_SETTING = "cluster_name=windhover-";
const POLL_MS = 20;

/** The setting by which a PostgreSQL says whose child it was started as. */
export const ownerSetting = (pid: number): string => `${OWNER_SETTING}${pid}`;

export interface Postmaster {
  readonly pid: number;
  readonly isReady: boolean;
  readonly socketFolder: string;
  /** The server that started it and lives; null when that is dead, `foreign` when it was none of ours. */
  readonly owner: number | "foreign" | null;
}

const readOrNull = async (path: string): Promise<string | null> => readFile(path, "utf8").catch(() => null);

/** What `postmaster.pid` says, whether its process lives or not. Its lines are documented in PostgreSQL's pidfile.h. */
export async function readLock(dataFolder: string): Promise<Omit<Postmaster, "owner"> | null> {
  const lines = (await readOrNull(join(dataFolder, "postmaster.pid")))?.split("\n");
  const pid = Number.parseInt(lines?.[0] ?? "", 10);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, socketFolder: lines?.[4] ?? "", isReady: lines?.[7]?.trim() === "ready" };
}

/** Null when none runs: the number in a lock file that was left behind may be another process's by now. */
export async function findPostmaster(dataFolder: string): Promise<Postmaster | null> {
  const lock = await readLock(dataFolder);
  if (lock === null) return null;
  const folder = await readlink(`/proc/${lock.pid}/cwd`).catch(() => null);
  if (folder !== dataFolder) return null;
  const [commandLine, status] = await Promise.all(
    ["cmdline", "status"].map((name) => readOrNull(`/proc/${lock.pid}/${name}`)),
  );
  const setting = commandLine?.split("\0").find((word) => word.startsWith(OWNER_SETTING));
  if (setting === undefined) return { ...lock, owner: "foreign" };
  const startedBy = Number(setting.slice(OWNER_SETTING.length));
  // A child whose parent died has another parent, so there is no guessing about numbers that are used again.
  const parent = Number(/^PPid:\s*(\d+)$/m.exec(status ?? "")?.[1]);
  return { ...lock, owner: parent === startedBy ? startedBy : null };
}

/**
 * Returns once no PostgreSQL runs on the folder: one whose server died is waited for, since it is shutting down. Throws
 * when a living server uses it.
 */
export async function claimDataFolder(dataFolder: string, limitMs: number, log: Logger): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  let isAsked = false;
  let isPressed = false;
  for (;;) {
    const postmaster = await findPostmaster(dataFolder);
    if (postmaster === null) break;
    const { pid, owner } = postmaster;
    if (owner === "foreign") {
      throw new DatabaseFault(
        `A PostgreSQL that Windhover did not start (pid ${pid}) runs on ${dataFolder}: stop it first.`,
      );
    }
    if (owner !== null) {
      throw new DatabaseFault(
        `Another Windhover (pid ${owner}) uses the database in ${dataFolder}. Stop that one first, or give this one ` +
          "another data directory (WINDHOVER_DATA_DIR).",
      );
    }
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0)
      throw new DatabaseFault(`A PostgreSQL whose server died (pid ${pid}) does not end: end it by hand.`);
    if (!isAsked) {
      log.info({ pid }, "waiting for the PostgreSQL of a server that died");
      signal(pid, "SIGINT");
      isAsked = true;
    } else if (!isPressed && leftMs < limitMs / 2) {
      signal(pid, "SIGQUIT");
      isPressed = true;
    }
    await wait(POLL_MS);
  }
  // PostgreSQL sees for itself that a process is gone, but not that its number is another's by now.
  const left = await readLock(dataFolder);
  if (left !== null && isAlive(left.pid)) await rm(join(dataFolder, "postmaster.pid"), { force: true });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
