/**
 * The private PostgreSQL: data below the data directory, a Unix socket that only its own user (and root) may open. It ends
 * with the server, however that ends, and gets no Ctrl-C of the terminal.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { type BackoffRule, backoff, sleep, withTimeout } from "../async/timing.ts";
import { type Address, DatabaseFault } from "./client.ts";
import { findAccount, findPrograms, initialise, preparePlace, programEnvironment } from "./postgres-setup.ts";
import { claimDataFolder, ownerSetting, readLock } from "./postmaster.ts";

const SUPERUSER = "windhover";
const POLL_MS = 20;
const KEPT_LINES = 20;

interface PrivatePostgresOptions {
  readonly dataDir: string;
  readonly connections: number;
  readonly startSeconds: number;
  readonly stopSeconds: number;
  /** Additional settings, such as `listen_addresses`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Without fsync and with an immediate shutdown: for tests, which discard the data. */
  readonly isTemporary?: boolean;
  readonly log: Logger;
}

export interface PrivatePostgres {
  readonly address: Address;
  readonly pid: number;
  /** Resolves with its last output when it has ended. */
  readonly ended: Promise<string>;
  /** Resolves when it has ended; connected clients are disconnected. */
  stop(): Promise<void>;
}

/** Resolves when it accepts connections. Rejects with `DatabaseFault`; then it is not running. */
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
      // A session of its own: on Ctrl-C the server still needs the database to shut down.
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
  // A few more for commands and for psql.
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
  // Statements and rows contain URLs with passwords.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
});

/**
 * A lock: one server at a time starts the database. A socket in Linux's abstract namespace is freed by the kernel when its
 * owner dies, so that there are no stale locks.
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
  const output: string[] = [];
  const addLine = (line: string) => {
    output.push(line);
    if (output.length > KEPT_LINES) output.shift();
    logLine(line, log);
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", addLine);
    // A pipe to a child is a socket. It must not keep the server process alive.
    (stream as Readable & { unref(): void }).unref();
  }
  child.unref();
  let hasEnded = false;
  const ended = new Promise<string>((resolve) => {
    const end = (how: string) => {
      hasEnded = true;
      resolve([...output, how].join("\n"));
    };
    child.once("error", (error) => end(error.message));
    // Not `close`: its child processes hold the pipes a little longer.
    child.once("exit", (code, signal) => end(signal === null ? `exit code ${code}` : `ended by ${signal}`));
  });
  return {
    pid: child.pid ?? 0,
    ended,
    stop: async () => {
      child.ref();
      // Fast, then immediate (recovered at the next start, without loss), then SIGKILL.
      for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
        if (isTemporary && signal === "SIGINT") continue;
        if (hasEnded) break;
        child.kill(signal);
        await withTimeout(stopSeconds * 1000, ended);
      }
    },
  };
}

async function waitUntilReady(run: Run, dataFolder: string, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  let last: string | null = null;
  run.ended.then((output) => {
    last = output;
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

/** `ERROR` is the result of a query, and is handled by its caller. */
function logLine(line: string, log: Logger): void {
  const [, severity = "", message = line] = /^([A-Z]+):\s+(.*)$/s.exec(line) ?? [];
  log[LEVELS[severity] ?? "debug"]({ postgres: severity || "output" }, message);
}

/** The private PostgreSQL, restarted whenever it ends unexpectedly. */
export class SupervisedPostgres {
  readonly address: Address;
  readonly #options: PrivatePostgresOptions;
  readonly #rule: BackoffRule;
  readonly #closing = new AbortController();
  readonly #watching: Promise<void>;
  #run: PrivatePostgres;
  #down: string | null = null;
  #restart: Promise<unknown> | null = null;

  static async start(options: PrivatePostgresOptions, restart: BackoffRule): Promise<SupervisedPostgres> {
    return new SupervisedPostgres(await startPrivatePostgres(options), options, restart);
  }

  private constructor(run: PrivatePostgres, options: PrivatePostgresOptions, restart: BackoffRule) {
    this.address = run.address;
    this.#run = run;
    this.#options = options;
    this.#rule = restart;
    this.#watching = this.#watch();
  }

  /** Why it is down; null if it is up. */
  get down(): string | null {
    return this.#down;
  }

  /** Resolves when it accepts connections again, or is closed; null while it does. */
  whenUp(): Promise<unknown> | null {
    return this.#restart;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#run.stop();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    let failures = 0;
    for (;;) {
      const startedMs = performance.now();
      const output = await this.#run.ended;
      if (this.#closing.signal.aborted) return;
      this.#down = "it ended unexpectedly and is being restarted";
      this.#options.log.error({ output }, "private PostgreSQL ended unexpectedly");
      if (performance.now() - startedMs > this.#rule.maxMs) failures = 0;
      const restart = this.#startAgain(failures);
      this.#restart = restart;
      failures = await restart;
      if (this.#closing.signal.aborted) return this.#run.stop();
      this.#restart = null;
    }
  }

  /** Resolves with the number of failures in a row when it is up again, or closed. */
  async #startAgain(before: number): Promise<number> {
    const { log } = this.#options;
    for (let failures = before + 1; ; failures++) {
      await sleep(backoff(failures, this.#rule), this.#closing.signal);
      if (this.#closing.signal.aborted) return failures;
      try {
        this.#run = await startPrivatePostgres(this.#options);
        this.#down = null;
        log.info({ pid: this.#run.pid }, "private PostgreSQL restarted");
        return failures;
      } catch (error) {
        this.#down = error instanceof Error ? error.message : String(error);
        log.error({ err: error, attempt: failures }, "private PostgreSQL could not be restarted");
      }
    }
  }
}
