/** Where the private PostgreSQL keeps its data and its socket. */
import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { DatabaseFault } from "./fault.ts";
import type { Account } from "./postgres-account.ts";

export interface Place {
  /** Ours, entered by the account alone. Holds `data`, and `socket` where its path is short enough. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly socketFolder: string;
  /** That made the data; null when there is none yet. */
  readonly dataVersion: number | null;
}

/** For a data directory that the account cannot reach, such as one below /root. */
const OUTSIDE = "/var/lib/windhover";
/** `sun_path` of Linux holds 108 bytes with the NUL at its end. */
const SOCKET_PATH_BYTES = 107;
const SOCKET_NAME = ".s.PGSQL.5432";
const PRIVATE = 0o700;

/** Where data may be, whether it is or not. `root` is a real path. */
function listFolders(root: string): { inside: string; outside: string; key: string } {
  const key = createHash("sha256").update(root).digest("hex").slice(0, 16);
  return { inside: join(root, "postgres"), outside: join(OUTSIDE, key), key };
}

/** Folders in which the data of a data directory may be; makes nothing. */
export async function listDataFolders(dataDir: string): Promise<readonly string[]> {
  const root = await realpath(dataDir).catch(() => null);
  if (root === null) return [];
  const { inside, outside } = listFolders(root);
  return [inside, outside].map((folder) => join(folder, "data"));
}

export async function preparePlace(dataDir: string, account: Account, log: Logger): Promise<Place> {
  await mkdir(dataDir, { recursive: true }).catch((cause) => {
    throw new DatabaseFault(`The data directory ${dataDir} cannot be made: ${cause.message}.`, { cause });
  });
  const root = await realpath(dataDir);
  const folder = await chooseFolder(root, account, log);
  await makePrivate(folder, account);
  const dataFolder = join(folder, "data");
  const socketFolder = chooseSocketFolder(folder, listFolders(root).key, account);
  await makePrivate(socketFolder, account);
  return { folder, dataFolder, socketFolder, dataVersion: await readDataVersion(dataFolder) };
}

/**
 * Below the data directory if it can be. Data that is there already decides, so that a change of some folder's mode can
 * never make a filled database look like an empty one.
 */
async function chooseFolder(root: string, account: Account, log: Logger): Promise<string> {
  const { inside, outside } = listFolders(root);
  const mayEnter = await account.mayEnter(root);
  if (mayEnter && !(await hasData(outside))) return inside;
  if (!(await hasData(inside))) {
    if (!mayEnter && process.getuid?.() !== 0) {
      throw new DatabaseFault(`The data directory ${root} may not be entered. Change its mode or its owner.`);
    }
    log.warn({ folder: outside }, `user postgres may not enter ${root}: the database is kept in ${outside}`);
    // Whatever the umask: the account passes through it.
    if ((await mkdir(OUTSIDE, { recursive: true })) !== undefined) await chmod(OUTSIDE, 0o711);
    return outside;
  }
  if (mayEnter) return inside;
  throw new DatabaseFault(
    `The database in ${inside} cannot be reached by the user that PostgreSQL runs as (uid ${account.uid}). Start ` +
      "Windhover as the user it was started as before, or let that one pass through every folder on the way (chmod o+x).",
  );
}

const hasData = async (folder: string): Promise<boolean> => (await readDataVersion(join(folder, "data"))) !== null;

function chooseSocketFolder(folder: string, key: string, account: Account): string {
  const name = `windhover-${account.uid}-${key}`;
  const folders = [join(folder, "socket"), join(tmpdir(), name)];
  const isShort = (each: string) => Buffer.byteLength(join(each, SOCKET_NAME)) <= SOCKET_PATH_BYTES;
  return folders.find(isShort) ?? join("/tmp", name);
}

/** Makes it, or takes it if it is the account's and nobody else's: in /tmp anybody may have been quicker. */
async function makePrivate(folder: string, account: Account): Promise<void> {
  try {
    await mkdir(folder, { mode: PRIVATE });
    await chown(folder, account.uid, account.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw explain(folder, error);
  }
  const stat = await lstat(folder);
  // Made by us, who were killed before we could hand it over.
  const isRoots = stat.uid === 0 && process.getuid?.() === 0;
  if (!stat.isDirectory() || (stat.uid !== account.uid && !isRoots)) {
    throw new DatabaseFault(
      `${folder} must be a folder of the user that PostgreSQL runs as (uid ${account.uid}); its owner is uid ${stat.uid}. ` +
        "Start Windhover as the user it was started as before, or change the owner of the folder and of all that is in it.",
    );
  }
  if (isRoots) await chown(folder, account.uid, account.gid);
  if ((stat.mode & 0o777) !== PRIVATE) await chmod(folder, PRIVATE);
}

const explain = (folder: string, cause: unknown): DatabaseFault =>
  new DatabaseFault(`${folder} cannot be made: ${(cause as Error).message}.`, { cause });

/** Null when there is no data. */
async function readDataVersion(dataFolder: string): Promise<number | null> {
  try {
    return Number.parseInt(await readFile(join(dataFolder, "PG_VERSION"), "utf8"), 10);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return null;
    throw error;
  }
}
