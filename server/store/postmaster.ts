/** Whether a PostgreSQL uses a data folder, and which server started it. */
import { readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { isAlive } from "../is-alive.ts";
import { DatabaseFault } from "./client.ts";

const OWNER_SETTING = "cluster_name=windhover-";
const POLL_MS = 20;

/** The setting that identifies the server that started a PostgreSQL. */
export const ownerSetting = (pid: number): string => `${OWNER_SETTING}${pid}`;

interface Postmaster {
  readonly pid: number;
  readonly isReady: boolean;
  readonly socketFolder: string;
  /** The running server that started it; null if that has ended, `foreign` if Windhover did not start it. */
  readonly owner: number | "foreign" | null;
}

const readOrNull = async (path: string): Promise<string | null> => readFile(path, "utf8").catch(() => null);

/** The contents of `postmaster.pid`, whether its process is running or not. Documented in PostgreSQL's pidfile.h. */
export async function readLock(dataFolder: string): Promise<Omit<Postmaster, "owner"> | null> {
  const lines = (await readOrNull(join(dataFolder, "postmaster.pid")))?.split("\n");
  const pid = Number.parseInt(lines?.[0] ?? "", 10);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, socketFolder: lines?.[4] ?? "", isReady: lines?.[7]?.trim() === "ready" };
}

/** Null if none is running: the pid in a stale lock file may belong to another process. */
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
  // A child whose parent died has another parent: reused pids do not matter.
  const parent = Number(/^PPid:\s*(\d+)$/m.exec(status ?? "")?.[1]);
  return { ...lock, owner: parent === startedBy ? startedBy : null };
}

/**
 * Resolves when no PostgreSQL uses the folder: waits for one whose server died, as it is shutting down. Rejects if a running
 * server uses it.
 */
export async function claimDataFolder(dataFolder: string, limitMs: number, log: Logger): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  let isInterrupted = false;
  let isKilled = false;
  for (;;) {
    const postmaster = await findPostmaster(dataFolder);
    if (postmaster === null) break;
    const { pid, owner } = postmaster;
    if (owner === "foreign") {
      throw new DatabaseFault(
        `A PostgreSQL that Windhover did not start (pid ${pid}) uses ${dataFolder}: stop it first.`,
      );
    }
    if (owner !== null) {
      throw new DatabaseFault(
        `Another Windhover (pid ${owner}) uses the database in ${dataFolder}. Stop it first, or give this one ` +
          "another data directory (WINDHOVER_DATA_DIR).",
      );
    }
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0)
      throw new DatabaseFault(`A PostgreSQL whose server died (pid ${pid}) does not end: stop it manually.`);
    if (!isInterrupted) {
      log.info({ pid }, "waiting for the PostgreSQL of a server that died");
      signal(pid, "SIGINT");
      isInterrupted = true;
    } else if (!isKilled && leftMs < limitMs / 2) {
      signal(pid, "SIGQUIT");
      isKilled = true;
    }
    await wait(POLL_MS);
  }
  // PostgreSQL detects that the process has ended, but not that its pid was reused.
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
