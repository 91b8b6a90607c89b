/**
 * One run of the private PostgreSQL: found or made below the data directory, reached by a Unix socket that only its own
 * user (and root) may open. It ends with us, however we end, and hears no Ctrl-C of our terminal.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Address } from "./client.ts";
import { DatabaseFault } from "./fault.ts";
import { initialise } from "./initialise-postgres.ts";
import { findAccount, programEnvironment } from "./postgres-account.ts";
import { preparePlace } from "./postgres-place.ts";
import { findPrograms } from "./postgres-programs.ts";
import { claimDataFolder, ownerSetting, readLock } from "./postmaster.ts";

const SUPERUSER = "windhover";
const POLL_MS = 20;
const KEPT_LINES = 20;

export interface PrivatePostgresOptions {
  readonly dataDir: string;
  readonly connections: number;
  readonly startSeconds: number;
  readonly stopSeconds: number;
  /** Beyond ours: `listen_addresses`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Nothing is flushed, and the end is abrupt: for tests, which throw the data away. */
  readonly isTemporary?: boolean;
  readonly log: Logger;
}

export interface PrivatePostgres {
  readonly address: Address;
  readonly pid: number;
  /** Resolves with what it said last when it has ended, whoever ended it. */
  readonly ended: Promise<string>;
  /** Resolves when no process of it is left; clients that are connected are thrown out. */
  stop(): Promise<void>;
}

/** Resolves when it takes connections. Rejects with `DatabaseFault`, and then nothing of it runs. */
export async function startPrivatePostgres(options: PrivatePostgresOptions): Promise<PrivatePostgres> {
  const { log, isTemporary = false } = options;
  const limitMs = options.startSeconds * 1000;
  const account = await findAccount();
  const place = await preparePlace(options.dataDir, account, log);
  const programs = await findPrograms(place.dataVersion, place.dataFolder);
  const release = await holdStart(place.folder);
  try {
    await claimDataFolder(place.dataFolder, limitMs, log);
    if (place.dataVersion === null) await initialise(place, programs, account, { limitMs, isSynced: !isTemporary });
    const flushing = { fsync: isTemporary ? "off" : "on" };
    const settings = { ...describeSettings(options, place.socketFolder), ...flushing, ...options.settings };
    const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const owner = ["-c", ownerSetting(process.pid)];
    const [program, args] = account.command(programs.postgres, "-D", place.dataFolder, ...owner, ...words);
    const child = spawn(program, args, {
      // A session of its own: the terminal's Ctrl-C is for us, who still need the database to shut down.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      cwd: "/",
      env: programEnvironment(),
    });
    const run = follow(child, options);
    await waitUntilReady(run, place.dataFolder, limitMs);
    return { ...run, address: socketAddress(place.socketFolder) };
  } finally {
    release();
  }
}

export const socketAddress = (folder: string): Address => ({
  host: folder,
  port: 5432,
  database: "postgres",
  user: SUPERUSER,
  password: null,
  ssl: false,
  parameters: {},
});

const describeSettings = ({ connections }: PrivatePostgresOptions, socketFolder: string) => ({
  listen_addresses: "",
  port: "5432",
  unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
  unix_socket_permissions: "0700",
  // A few more for the commands, and for somebody with psql.
  max_connections: String(connections + 20),
  shared_buffers: "32MB",
  max_wal_size: "256MB",
  max_parallel_workers_per_gather: "0",
  huge_pages: "off",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_destination: "stderr",
  logging_collector: "off",
  log_line_prefix: "",
  lc_messages: "C",
  // Statements and the rows in question hold addresses with passwords.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
});

/**
 * Only one server at a time gets past here. A name in Linux's abstract namespace: the kernel frees it when its holder
 * dies, so there is no stale lock to recognise.
 */
async function holdStart(folder: string): Promise<() => void> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const isHeld = cause.code === "EADDRINUSE";
      reject(
        isHeld ? new DatabaseFault(`Another Windhover is starting on the database in ${folder}.`, { cause }) : cause,
      );
    });
    server.listen(`\0windhover-postgres-${dev}-${ino}`, () => {
      server.unref();
      resolve(() => server.close());
    });
  });
}

type Run = Omit<PrivatePostgres, "address">;

function follow(child: ChildProcess, { stopSeconds, isTemporary, log }: PrivatePostgresOptions): Run {
  const said: string[] = [];
  const takeLine = (line: string) => {
    said.push(line);
    if (said.length > KEPT_LINES) said.shift();
    logLine(line, log);
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", takeLine);
    // A pipe to a child is a socket. It must not keep a process alive that has nothing else to do.
    (stream as Readable & { unref(): void }).unref();
  }
  child.unref();
  let hasEnded = false;
  const ended = new Promise<string>((resolve) => {
    const end = (how: string) => {
      hasEnded = true;
      resolve([...said, how].join("\n"));
    };
    child.once("error", (error) => end(error.message));
    // Not `close`: processes of its own hold the pipes a little longer.
    child.once("exit", (code, signal) => end(signal === null ? `exit code ${code}` : `ended by ${signal}`));
  });
  return {
    pid: child.pid ?? 0,
    ended,
    stop: async () => {
      child.ref();
      // Fast, then immediate (which is a crash for it, and loses nothing), then by force.
      for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
        if (isTemporary && signal === "SIGINT") continue;
        if (hasEnded) break;
        child.kill(signal);
        await withLimit(ended, stopSeconds * 1000);
      }
    },
  };
}

async function withLimit(promise: Promise<unknown>, limitMs: number): Promise<void> {
  const abort = new AbortController();
  const late = wait(limitMs, undefined, { signal: abort.signal }).catch(() => undefined);
  await Promise.race([promise, late]);
  abort.abort();
}

async function waitUntilReady(run: Run, dataFolder: string, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  let last: string | null = null;
  run.ended.then((said) => {
    last = said;
  });
  for (;;) {
    const lock = await readLock(dataFolder);
    if (lock?.pid === run.pid && lock.isReady) return;
    if (last !== null) throw new DatabaseFault(`PostgreSQL did not start on ${dataFolder}:\n${last}`);
    if (performance.now() > deadlineMs) {
      await run.stop();
      throw new DatabaseFault(
        `PostgreSQL was not ready on ${dataFolder} within ${limitMs / 1000} s (database.start_seconds):\n${await run.ended}`,
      );
    }
    await wait(POLL_MS);
  }
}

const LEVELS: Readonly<Record<string, "debug" | "warn" | "error">> = { WARNING: "warn", FATAL: "warn", PANIC: "error" };

/** `ERROR` is what some query was answered with, and told by whoever made it. */
function logLine(line: string, log: Logger): void {
  const [, severity = "", message = line] = /^([A-Z]+):\s+(.*)$/s.exec(line) ?? [];
  log[LEVELS[severity] ?? "debug"]({ postgres: severity || "said" }, message);
}
