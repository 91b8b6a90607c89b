/**
 * Starts the child processes that handle data of clients (runners, probes, the enhancer) with few rights, through
 * `build/confine`. Owner: the service, which closes it after the last child.
 */
import { type ChildProcess, execFile, type StdioOptions, spawn } from "node:child_process";
import { constants, existsSync } from "node:fs";
import { access, chmod, chown, readdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { FOLDERS_VARIABLE } from "../../schemas/folders.ts";
import { listDenied } from "../net/addresses.ts";
import { StartFault } from "../start-fault.ts";

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = join(CHECKOUT, "build/confine");
const SOURCES = join(CHECKOUT, "graphs/runtime/");
const REPORT_MS = 30_000;
const OPEN_FILES = 4096;
/**
 * Megabytes for new objects, of which V8 keeps up to three times as much: by default up to 48 MB for each of dozens of
 * runners, which create little and keep almost none of it.
 */
const YOUNG_HEAP = "--max-semi-space-size=2";
/** The guard's descriptor, through which children pass it their seccomp filters. */
const GUARD_SOCKET = 3;
/** The same in a child, after its IPC channel and its pictures. */
const GUARD = 5;

/** Variables of Windhover that its programs read. All its others, and all that may be secrets, are removed. */
const OURS = new Set(["WINDHOVER_CACHE_DIR", "WINDHOVER_ADDON", FOLDERS_VARIABLE]);
const SECRET = /^WINDHOVER_|^DATABASE_URL$|^PG|KEY|SECRET|TOKEN|PASSW|CREDENTIAL/i;

export interface ConfinementOptions {
  readonly config: Pick<Config, "data_dir" | "runners" | "network">;
  readonly log: Logger;
  /** Folders that children can read besides the system and the checkout: models. */
  readonly reads: readonly string[];
}

export interface ChildOrder {
  readonly entry: URL;
  readonly args?: readonly string[];
  /** The kernel's limit is a multiple of it: the exact limit is for the caller to watch. */
  readonly memoryBytes: number;
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  /** An IPC channel. */
  readonly hasChannel?: boolean;
  /** A pipe, `stdio[4]`. */
  readonly hasPictures?: boolean;
}

/** What `confine --report` prints. */
interface Report {
  /** Version; 0: not available. */
  readonly landlock: number;
  readonly filter: boolean;
  readonly connections: "performed" | "checked" | "none";
}

/** A user other than ours. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** `UID:GID,…`, with all its groups. */
  readonly id: string;
}

export class Confinement {
  /** Null: children run as the user that the service runs as. */
  readonly account: Account | null;
  readonly #options: ConfinementOptions;
  readonly #common: readonly string[];
  #guard: ChildProcess | null = null;
  #isClosed = false;

  private constructor(options: ConfinementOptions, common: readonly string[], account: Account | null) {
    this.#options = options;
    this.#common = common;
    this.account = account;
  }

  /** Logs which protections are active and which are missing. Rejects with `StartFault`. */
  static async open(options: ConfinementOptions): Promise<Confinement> {
    const { log, config, reads } = options;
    const { data_dir, runners } = config;
    const [account, readable, devices] = await Promise.all([
      findAccount(runners.user),
      listReadable(data_dir),
      listDevices(),
    ]);
    const confinement = new Confinement(
      options,
      [
        ...[...readable, ...reads, ...runners.readable].flatMap((path) => ["--read", path]),
        ...devices.flatMap((path) => ["--device", path]),
        ...(account === null ? [] : ["--user", account.id]),
      ],
      account,
    );
    if (account !== null)
      await confinement.#expectAccess(runners.user ?? "", [
        data_dir,
        SOURCES,
        ...reads.filter((path) => existsSync(path)),
      ]);
    const report = await confinement.#report();
    log.info({ ...report, user: runners.user ?? process.getuid?.() }, "runners confined");
    for (const missing of listMissing(report, account)) log.warn(missing);
    return confinement;
  }

  /** The child is killed when we exit. It has its own process group: Ctrl-C reaches only us. */
  spawn(order: ChildOrder): ChildProcess {
    const { entry, args = [], memoryBytes, reads = [], writes = [], hasChannel = false, hasPictures = false } = order;
    const file = fileURLToPath(entry);
    const isSource = file.endsWith(".ts");
    // TypeScript sources are compiled by a separate program.
    const mayFork = isSource || process.env.WINDHOVER_FROM_SOURCE === "1";
    const guard = this.#openGuard();
    const words = [
      ...this.#common,
      ...[...reads, dirname(file)].flatMap((path) => ["--read", path]),
      ...writes.flatMap((path) => ["--write", path]),
      // Stacks and heap reserves count in full, used or not.
      ...["--data-bytes", String(2 * memoryBytes + 2 ** 30), "--files", String(OPEN_FILES)],
      ...["--ask", `${GUARD}:${guard.pid}`],
      ...(mayFork ? ["--may-fork"] : []),
      ...[
        "--",
        process.execPath,
        YOUNG_HEAP,
        ...(isSource ? ["--import", import.meta.resolve("tsx")] : []),
        file,
        ...args,
      ],
    ];
    return spawn(PROGRAM, words, {
      env: { ...listEnvironment(), MALLOC_ARENA_MAX: "2", ...(!mayFork && { WINDHOVER_CONFINED: "1" }) },
      stdio: listStreams(guard, hasChannel ? "ipc" : "ignore", hasPictures ? "pipe" : "ignore"),
      detached: true,
      serialization: "json",
    });
  }

  /** Lets children read a file of the service. */
  async share(path: string): Promise<void> {
    if (this.account === null) return;
    await chown(path, -1, this.account.gid);
    await chmod(path, 0o640);
  }

  /** After the last child. */
  close(): void {
    this.#isClosed = true;
    this.#guard?.kill("SIGKILL");
  }

  /** Checked at startup, not with the first video. */
  async #expectAccess(name: string, paths: readonly string[]): Promise<void> {
    for (const path of paths)
      await run(PROGRAM, ["--read", "/", "--user", this.account?.id ?? "", "--", "test", "-x", path]).catch((cause) => {
        throw new StartFault(`${name} (runners.user) cannot enter ${path}. Grant access, or name another user.`, {
          cause,
        });
      });
  }

  async #report(): Promise<Report> {
    const unavailable = (reason: string, cause?: unknown): StartFault =>
      new StartFault(`Runners cannot be confined: ${reason}`, { cause });
    await access(PROGRAM, constants.X_OK).catch((cause: Error) => {
      throw unavailable(`${cause.message}. \`node setup/setup.mjs\` builds it.`, cause);
    });
    const guard = this.#openGuard();
    const words = [...this.#common, "--ask", `${GUARD}:${guard.pid}`, "--report"];
    const child = spawn(PROGRAM, words, { stdio: listStreams(guard, "ignore", "ignore"), timeout: REPORT_MS });
    const [report = "", complaint = ""] = await Promise.all(
      [child.stdout, child.stderr].map((stream) => (stream === null ? "" : text(stream))),
    );
    try {
      return JSON.parse(report) as Report;
    } catch (cause) {
      throw unavailable(complaint.trim() || "confine did not report", cause);
    }
  }

  /**
   * One for all children, replaced when it has ended. Children of an ended guard can no longer connect: their processes
   * fail and are restarted.
   */
  #openGuard(): ChildProcess {
    if (this.#guard !== null && this.#guard.exitCode === null && this.#guard.signalCode === null) return this.#guard;
    const { config, log } = this.#options;
    const denied = listDenied(config.network).flatMap((network) => ["--deny", network]);
    const guard = spawn(PROGRAM, ["--guard", ...denied], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      env: {},
      detached: true,
    });
    guard.on("error", (error) => log.error({ error: error.message }, "network guard failed"));
    guard.on("exit", (code, signal) => {
      if (!this.#isClosed) log.error({ code, signal }, "network guard ended");
    });
    guard.unref();
    (guard.stdio[GUARD_SOCKET] as { unref?(): void } | null | undefined)?.unref?.();
    this.#guard = guard;
    return guard;
  }
}

const listStreams = (guard: ChildProcess, channel: "ipc" | "ignore", pictures: "pipe" | "ignore"): StdioOptions => [
  ...(["ignore", "pipe", "pipe", channel, pictures] as const),
  guard.stdio[GUARD_SOCKET] ?? "ignore",
];

const listEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => OURS.has(name) || !SECRET.test(name)));

async function findAccount(name: string | null): Promise<Account | null> {
  if (name === null) return null;
  if (process.getuid?.() !== 0)
    throw new StartFault(
      `runners.user is ${name}, but only root can run runners as another user. Start as root, or unset it.`,
    );
  try {
    const [uid, gid, groups] = await Promise.all(
      ["-u", "-g", "-G"].map(async (option) => (await run("id", [option, "--", name])).stdout.trim()),
    );
    const others = (groups ?? "").split(" ").filter((group) => group !== gid);
    return { uid: Number(uid), gid: Number(gid), id: `${uid}:${[gid, ...others].join(",")}` };
  } catch (cause) {
    throw new StartFault(`The user ${name} (runners.user) does not exist. Create it, or name another.`, { cause });
  }
}

function listMissing({ landlock, filter, connections }: Report, account: Account | null): readonly string[] {
  return [
    ...(process.getuid?.() === 0 && account === null
      ? ["started as root: runners run as root without capabilities. Start as another user, or set runners.user"]
      : []),
    ...(landlock === 0 ? ["Landlock is not available: runners can open every file that their user can"] : []),
    ...(filter
      ? []
      : ["seccomp is not available: runners can start programs and open Unix sockets, such as that of the database"]),
    ...(connections === "none" ? ["connections of runners are not checked against network.deny"] : []),
    ...(connections === "checked"
      ? ["pidfd_getfd is not available: connections of runners are checked, but not safe against a race"]
      : []),
  ];
}

/** Single files of /etc: others there hold secrets. */
const SYSTEM = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/var/cache/fontconfig"],
  ...["/etc/alternatives", "/etc/fonts", "/etc/ssl", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime"],
  ...["/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"],
  ...["/etc/protocols", "/etc/passwd", "/etc/group", "/etc/os-release", "/etc/debian_version", "/etc/drirc"],
  ...["/etc/OpenCL", "/etc/glvnd", "/etc/vulkan", "/run/systemd/resolve", "/run/resolvconf"],
];

const DEVICES = /^(null|zero|full|random|urandom|dri|dma_heap|(video|media|nvidia|nvhost|nvmap|mali|rga|vpu|mpp).*)$/;

/** Where GStreamer and the linker find libraries of the user. */
const LIBRARY_VARIABLES = ["GST_PLUGIN_PATH", "GST_PLUGIN_PATH_1_0", "GST_PLUGIN_SYSTEM_PATH_1_0", "LD_LIBRARY_PATH"];
const USER_FOLDERS = [".local/share/gstreamer-1.0", ".cache/gstreamer-1.0", ".fonts", ".local/share/fonts"];

/** What our programs and their libraries need, and no data of users. Paths that do not exist are harmless. */
async function listReadable(dataDir: string): Promise<readonly string[]> {
  const { env } = process;
  return [
    ...SYSTEM,
    process.execPath,
    ...USER_FOLDERS.map((path) => join(homedir(), path)),
    ...[env.GST_REGISTRY_1_0, env.GST_REGISTRY].filter((path) => path !== undefined),
    ...(env.XDG_CACHE_HOME ? [join(env.XDG_CACHE_HOME, "gstreamer-1.0")] : []),
    ...LIBRARY_VARIABLES.flatMap((name) => env[name]?.split(delimiter).filter((path) => path.startsWith("/")) ?? []),
    ...(await listCheckout(dataDir)),
  ];
}

async function listDevices(): Promise<readonly string[]> {
  const names = await readdir("/dev");
  return names.filter((name) => DEVICES.test(name)).map((name) => join("/dev", name));
}

/** Its folders and package.json; not hidden files, settings or data, which may be in it too. */
async function listCheckout(dataDir: string): Promise<readonly string[]> {
  const data = await realpath(dataDir).catch(() => resolve(dataDir));
  const isData = (path: string) => !relative(path, data).startsWith("..");
  const entries = await readdir(CHECKOUT, { withFileTypes: true });
  const folders = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith(".") && entry.name !== "data");
  const addon = process.env.WINDHOVER_ADDON ?? join(CHECKOUT, "build/windhover.node");
  const elements = await readdir(join(CHECKOUT, "elements"), { withFileTypes: true });
  const links = elements.filter((entry) => entry.isSymbolicLink());
  return [
    ...folders.map(({ name }) => join(CHECKOUT, name)).filter((path) => !isData(path)),
    join(CHECKOUT, "package.json"),
    // These may be links to other folders.
    addon,
    ...links.map(({ name }) => join(CHECKOUT, "elements", name)),
  ];
}
