/**
 * How children that handle what clients send (runners, probes, the enhancer) are started: through `build/confine`, with
 * few rights. Owner: the service, which closes it after all of them.
 */
import { type ChildProcess, execFile, type StdioOptions, spawn } from "node:child_process";
import { constants, existsSync } from "node:fs";
import { access, chmod, chown } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { listDenied } from "../net/addresses.ts";
import { StartFault } from "../start-fault.ts";
import { listDevices, listReadable } from "./confined-paths.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../build/confine", import.meta.url));
const SOURCES = fileURLToPath(new URL("../../graphs/runtime/", import.meta.url));
const REPORT_MS = 30_000;
const OPEN_FILES = 4096;
/** Of the guard, by which children hand it their filters. */
const GUARD_SOCKET = 3;
/** The same in a child, after its channel and its pictures. */
const GUARD = 5;

/** What our programs read of the environment; nothing else of ours, and nothing that looks like a secret. */
const OURS = new Set(["WINDHOVER_CACHE_DIR", "WINDHOVER_ADDON"]);
const SECRET = /^WINDHOVER_|^DATABASE_URL$|^PG|KEY|SECRET|TOKEN|PASSW|CREDENTIAL/i;

export interface ConfinementOptions {
  readonly config: Pick<Config, "data_dir" | "runners" | "network">;
  readonly log: Logger;
  /** What children read besides the system and the checkout: models. */
  readonly reads: readonly string[];
}

export interface ChildOrder {
  readonly entry: URL;
  readonly args?: readonly string[];
  /** For the kernel's limit, which is a multiple: whoever starts a child watches it. */
  readonly memoryBytes: number;
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  /** Messages both ways. */
  readonly hasChannel?: boolean;
  /** A stream besides, `stdio[4]`. */
  readonly hasPictures?: boolean;
}

/** What `confine --report` prints. */
interface Report {
  /** Version; 0: not available. */
  readonly landlock: number;
  readonly filter: boolean;
  readonly connections: "performed" | "checked" | "none";
}

/** Another user than ours. */
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

  /** Logs once what is active and what is missing. Rejects with `StartFault`. */
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

  /** The child ends with us. A process group of its own: Ctrl-C is for us, who end our children in order. */
  spawn(order: ChildOrder): ChildProcess {
    const { entry, args = [], memoryBytes, reads = [], writes = [], hasChannel = false, hasPictures = false } = order;
    const file = fileURLToPath(entry);
    const isSource = file.endsWith(".ts");
    // Sources are translated by a program of their own. Where we were loaded so, children are.
    const mayFork = isSource || process.env.WINDHOVER_FROM_SOURCE === "1";
    const guard = this.#openGuard();
    const words = [
      ...this.#common,
      ...[...reads, dirname(file)].flatMap((path) => ["--read", path]),
      ...writes.flatMap((path) => ["--write", path]),
      // Stacks and reserves of the heap count in full, used or not.
      ...["--data-bytes", String(2 * memoryBytes + 2 ** 30), "--files", String(OPEN_FILES)],
      ...["--ask", `${GUARD}:${guard.pid}`],
      ...(mayFork ? ["--may-fork"] : []),
      ...["--", process.execPath, ...(isSource ? ["--import", import.meta.resolve("tsx")] : []), file, ...args],
    ];
    return spawn(PROGRAM, words, {
      env: { ...listEnvironment(), MALLOC_ARENA_MAX: "2", ...(!mayFork && { WINDHOVER_CONFINED: "1" }) },
      stdio: listStreams(guard, hasChannel ? "ipc" : "ignore", hasPictures ? "pipe" : "ignore"),
      detached: true,
      serialization: "json",
    });
  }

  /** Our own file, to be read by children too. */
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

  /** Said at the start, and not with the first video. */
  async #expectAccess(name: string, paths: readonly string[]): Promise<void> {
    for (const path of paths)
      await run(PROGRAM, ["--read", "/", "--user", this.account?.id ?? "", "--", "test", "-x", path]).catch((cause) => {
        throw new StartFault(`${name} (runners.user) may not enter ${path}. Allow it, or name another user.`, {
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
   * One for all children; a new one where it died. Children of the one that died cannot connect any more: their processes
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
      `runners.user is ${name}, and only root can run them as another user. Start as root, or unset it.`,
    );
  try {
    const [uid, gid, groups] = await Promise.all(
      ["-u", "-g", "-G"].map(async (option) => (await run("id", [option, "--", name])).stdout.trim()),
    );
    const others = (groups ?? "").split(" ").filter((group) => group !== gid);
    return { uid: Number(uid), gid: Number(gid), id: `${uid}:${[gid, ...others].join(",")}` };
  } catch (cause) {
    throw new StartFault(`There is no user ${name} (runners.user). Create it, or name another.`, { cause });
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
