/** What the private PostgreSQL needs before it can start: programs, user, folders, an initialised database. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  access,
  chmod,
  chown,
  constants,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { DatabaseFault } from "./client.ts";

const run = promisify(execFile);
/** Debian installs every major version into a folder of its own, not on the path. */
const DEBIAN_FOLDER = "/usr/lib/postgresql";
const OLDEST = 13;

export interface Programs {
  readonly version: number;
  readonly initdb: string;
  readonly postgres: string;
}

/** Of the version that created the data, or the newest if there is none. `folder`: of the data, for messages. */
export async function findPrograms(dataVersion: number | null, folder: string): Promise<Programs> {
  const installed = await listInstalled();
  if (dataVersion === null) {
    const newest = installed.find(({ version }) => version >= OLDEST);
    if (newest !== undefined) return newest;
    throw new DatabaseFault(
      `PostgreSQL ${OLDEST} or later was not found, neither in ${DEBIAN_FOLDER} nor on the path. ` +
        "Install it with `node setup/setup.mjs`, or set DATABASE_URL.",
    );
  }
  const same = installed.find(({ version }) => version === dataVersion);
  if (same !== undefined) return same;
  const versions = [...new Set(installed.map(({ version }) => version))].join(", ");
  throw new DatabaseFault(
    `The database in ${folder} was created by PostgreSQL ${dataVersion}; installed: ${versions || "none"}. ` +
      `Install postgresql-${dataVersion}, or migrate the data with pg_upgrade, or move that folder away to start with an empty database.`,
  );
}

/** The newest first. */
async function listInstalled(): Promise<readonly Programs[]> {
  const debian = (await readdir(DEBIAN_FOLDER).catch(() => [])).map((name) => join(DEBIAN_FOLDER, name, "bin"));
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const found = await Promise.all([...debian, ...path].map(inspect));
  return found.flat().sort((a, b) => b.version - a.version);
}

/** Empty without both programs: the folder may have only the clients. */
async function inspect(folder: string): Promise<readonly Programs[]> {
  const [initdb, postgres] = [join(folder, "initdb"), join(folder, "postgres")];
  try {
    await Promise.all([initdb, postgres].map((program) => access(program, constants.X_OK)));
    const { stdout } = await run(postgres, ["--version"]);
    const version = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]);
    return Number.isInteger(version) ? [{ version, initdb, postgres }] : [];
  } catch {
    return [];
  }
}

/** The user that the private PostgreSQL runs as: it does not run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /**
   * The command line that runs a program as this user. The kernel sends it SIGINT when the thread that started it dies: for
   * PostgreSQL a fast shutdown.
   */
  command(program: string, ...args: readonly string[]): readonly [program: string, args: readonly string[]];
  /** Whether the user may enter a folder. */
  mayEnter(folder: string): Promise<boolean>;
}

export async function findAccount(): Promise<Account> {
  const isRoot = process.getuid?.() === 0;
  const { uid, gid } = isRoot
    ? await findPostgresUser()
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const become = isRoot ? [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];
  const command = (program: string, ...args: readonly string[]) =>
    ["setpriv", [...become, "--pdeathsig", "INT", program, ...args]] as const;
  await tryCommand(command("true"), uid);
  return {
    uid,
    gid,
    command,
    mayEnter: async (folder) => {
      const [program, args] = command("test", "-x", folder);
      return run(program, [...args]).then(
        () => true,
        () => false,
      );
    },
  };
}

async function tryCommand([program, args]: ReturnType<Account["command"]>, uid: number): Promise<void> {
  try {
    await run(program, [...args]);
  } catch (cause) {
    const { stderr = "", message } = cause as Error & { stderr?: string };
    throw new DatabaseFault(
      `PostgreSQL cannot be run as uid ${uid}: ${stderr.trim() || message}. This requires \`setpriv\` of util-linux, and as ` +
        "root the permission to change the user; or set DATABASE_URL.",
      { cause },
    );
  }
}

/** Without secrets and without PG… variables, which would change its behaviour. */
export const programEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" });

async function findPostgresUser(): Promise<{ uid: number; gid: number }> {
  try {
    const [uid, gid] = await Promise.all(
      ["-u", "-g"].map(async (option) => (await run("id", [option, "postgres"])).stdout),
    );
    return { uid: Number(uid), gid: Number(gid) };
  } catch (cause) {
    throw new DatabaseFault(
      "PostgreSQL does not run as root, and there is no user `postgres`. Install postgresql-15, which creates that user, " +
        "or start Windhover as another user, or set DATABASE_URL.",
      { cause },
    );
  }
}

/** Folders of the private PostgreSQL. */
export interface Place {
  /** Only the account may enter it. Contains `data`, and `socket` if its path is short enough. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly socketFolder: string;
  /** That created the data; null if there is none. */
  readonly dataVersion: number | null;
}

/** For a data directory that the account cannot enter, such as one below /root. */
const OUTSIDE = "/var/lib/windhover";
/** `sun_path` of Linux has 108 bytes with the final NUL. */
const SOCKET_PATH_BYTES = 107;
const SOCKET_NAME = ".s.PGSQL.5432";
const PRIVATE = 0o700;

/** Where the data may be. `root` is a real path. */
function listFolders(root: string): { inside: string; outside: string; key: string } {
  const key = createHash("sha256").update(root).digest("hex").slice(0, 16);
  return { inside: join(root, "postgres"), outside: join(OUTSIDE, key), key };
}

/** Where the data of a data directory may be. Creates nothing. */
export async function listDataFolders(dataDir: string): Promise<readonly string[]> {
  const root = await realpath(dataDir).catch(() => null);
  if (root === null) return [];
  const { inside, outside } = listFolders(root);
  return [inside, outside].map((folder) => join(folder, "data"));
}

export async function preparePlace(dataDir: string, account: Account, log: Logger): Promise<Place> {
  await mkdir(dataDir, { recursive: true }).catch((cause) => {
    throw new DatabaseFault(`The data directory ${dataDir} cannot be created: ${cause.message}.`, { cause });
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
 * Below the data directory if possible. Existing data decides, so that a changed mode of a folder can never replace a
 * database by an empty one.
 */
async function chooseFolder(root: string, account: Account, log: Logger): Promise<string> {
  const { inside, outside } = listFolders(root);
  const mayEnter = await account.mayEnter(root);
  if (mayEnter && !(await hasData(outside))) return inside;
  if (!(await hasData(inside))) {
    if (!mayEnter && process.getuid?.() !== 0) {
      throw new DatabaseFault(`The data directory ${root} cannot be entered. Change its mode or its owner.`);
    }
    log.warn({ folder: outside }, `user postgres may not enter ${root}: the database is in ${outside}`);
    // Whatever the umask: the account must be able to pass through it.
    if ((await mkdir(OUTSIDE, { recursive: true })) !== undefined) await chmod(OUTSIDE, 0o711);
    return outside;
  }
  if (mayEnter) return inside;
  throw new DatabaseFault(
    `The user that PostgreSQL runs as (uid ${account.uid}) cannot enter ${inside}. Start ` +
      "Windhover as the same user as before, or permit passing through every folder above it (chmod o+x).",
  );
}

const hasData = async (folder: string): Promise<boolean> => (await readDataVersion(join(folder, "data"))) !== null;

function chooseSocketFolder(folder: string, key: string, account: Account): string {
  const name = `windhover-${account.uid}-${key}`;
  const folders = [join(folder, "socket"), join(tmpdir(), name)];
  const isShort = (each: string) => Buffer.byteLength(join(each, SOCKET_NAME)) <= SOCKET_PATH_BYTES;
  return folders.find(isShort) ?? join("/tmp", name);
}

/** Creates it, or checks that an existing one belongs to the account: in /tmp anyone could have created it. */
async function makePrivate(folder: string, account: Account): Promise<void> {
  try {
    await mkdir(folder, { mode: PRIVATE });
    await chown(folder, account.uid, account.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw explain(folder, error);
  }
  const stat = await lstat(folder);
  // Created by a server that was killed before it changed the owner.
  const isOfRoot = stat.uid === 0 && process.getuid?.() === 0;
  if (!stat.isDirectory() || (stat.uid !== account.uid && !isOfRoot)) {
    throw new DatabaseFault(
      `${folder} must be a folder owned by the user that PostgreSQL runs as (uid ${account.uid}); its owner is uid ${stat.uid}. ` +
        "Start Windhover as the same user as before, or change the owner of the folder and its contents.",
    );
  }
  if (isOfRoot) await chown(folder, account.uid, account.gid);
  if ((stat.mode & 0o777) !== PRIVATE) await chmod(folder, PRIVATE);
}

const explain = (folder: string, cause: unknown): DatabaseFault =>
  new DatabaseFault(`${folder} cannot be created: ${(cause as Error).message}.`, { cause });

/** Null if there is no data. */
async function readDataVersion(dataFolder: string): Promise<number | null> {
  try {
    return Number.parseInt(await readFile(join(dataFolder, "PG_VERSION"), "utf8"), 10);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return null;
    throw error;
  }
}

const UNFINISHED = "new-";

/** Creates an empty database under a temporary name, and renames it when complete. Removes incomplete ones. */
export async function initialise(
  place: Place,
  programs: Programs,
  account: Account,
  { limitMs, isSynced }: { readonly limitMs: number; readonly isSynced: boolean },
): Promise<void> {
  await removeUnfinished(place.folder);
  // Only if it is empty.
  await rmdir(place.dataFolder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return;
    throw new DatabaseFault(
      `${place.dataFolder} exists and is not a PostgreSQL database. Move it away and start again.`,
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
    const output = stderr.trim().split("\n").slice(-5).join("\n") || message;
    throw new DatabaseFault(`A database could not be created in ${place.folder}:\n${output}`, { cause });
  }
}

/** Of earlier starts: there is one start at a time. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
