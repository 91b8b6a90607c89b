/** The real service in a child process: on any free port, with data of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { copyDatabase } from "../../server/store/database-template.fixture.ts";

const COMMAND = fileURLToPath(new URL("../windhover.mjs", import.meta.url));
/** Turns a hang into a failure. */
const LIMIT_MS = 120_000;
const POLL_MS = 20;
const LOG_CHARACTERS = 10_000;

export interface ServingOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Default: that of its data. */
  readonly cwd?: string;
  /** `cli/windhover.mjs` of another checkout. */
  readonly command?: string;
}

export class Serving {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  stdout = "";
  stderr = "";
  #onOutput: () => void = () => {};

  constructor(dataDir: string, { env = {}, args = [], cwd = dataDir, command = COMMAND }: ServingOptions) {
    this.child = spawn(process.execPath, [command, "serve", ...args], {
      cwd,
      env: {
        ...withoutSettings(process.env),
        WINDHOVER_HTTP_PORT: "0",
        WINDHOVER_RTSP_PORT: "0",
        WINDHOVER_RTMP_PORT: "0",
        WINDHOVER_SRT_PORT: "0",
        // However little room the machine has.
        WINDHOVER_RECORDINGS_RESERVE_BYTES: "0",
        WINDHOVER_DATA_DIR: join(dataDir, "data"),
        WINDHOVER_HTTP_CHECK_ANSWERS: "true",
        // Each of them plans every query again.
        WINDHOVER_DATABASE_CONNECTIONS: "4",
        // Loaded ahead and never used, they take a tenth of all processor time of the tests. Some tests set the default.
        WINDHOVER_RUNNERS_SPARE: "0",
        // Receivers and cameras of tests are on this machine.
        WINDHOVER_NETWORK_ALLOW: "127.0.0.0/8,::1",
        // A machine that is busy with other tests takes its time.
        WINDHOVER_RUNNERS_START_SECONDS: "60",
        WINDHOVER_GRAPHS_COMPILE_SECONDS: "60",
        WINDHOVER_UPLOADS_PROBE_SECONDS: "120",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const name of ["stdout", "stderr"] as const)
      this.child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this[name] += text;
        this.#onOutput();
      });
    this.ended = once(this.child, "close").then(([code, signal]) => {
      this.#onOutput();
      return { code, signal };
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The line of standard output with this event; rejects with the log when the service fails at it or ends without it. */
  async event(name: string): Promise<Readonly<Record<string, string>>> {
    const deadlineMs = performance.now() + LIMIT_MS;
    for (;;) {
      const line = this.#findEvent(name);
      if (line !== undefined) return JSON.parse(line);
      const isOver = this.child.exitCode !== null || this.child.signalCode !== null || performance.now() > deadlineMs;
      if (isOver || this.#findEvent(`${name}_failed`) !== undefined)
        throw new Error(`no "${name}":\n${this.stdout}\nthe service logged:\n${this.stderr.slice(-LOG_CHARACTERS)}`);
      await Promise.race([wait(1000), new Promise<void>((resolve) => (this.#onOutput = resolve))]);
    }
  }

  #findEvent(name: string): string | undefined {
    return this.stdout.split("\n").find((text) => text.includes(`"event":"${name}"`));
  }

  async url(): Promise<string> {
    return (await this.event("ready")).url ?? "";
  }

  /** What it logged as errors last: why a test that waits for it waits in vain. */
  get errors(): string {
    const isError = (line: string) => /^\{"level":[56]0,/.test(line) || !line.startsWith("{");
    return this.stderr.split("\n").filter(isError).slice(-20).join("\n");
  }

  /** Cleanly; resolves with its exit code. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.child.kill(signal);
    return (await this.ended).code;
  }
}

const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(WINDHOVER_(?!CACHE_DIR|ADDON)|DATABASE_URL$)/.test(name)),
  );

/** Data of its own, and what has been started on it; all of it gone when `close` resolves. */
export class ServingFolder {
  readonly path: string;
  readonly #servings: Serving[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  /** `isNew`: not even a database is made. */
  static async make({ isNew = false } = {}): Promise<ServingFolder> {
    const path = await mkdtemp(join(tmpdir(), "windhover-serve-"));
    // For user postgres, when root tests: else the database would be kept elsewhere, and stay there.
    await chmod(path, 0o755);
    if (!isNew) await copyDatabase(join(path, "data"));
    return new ServingFolder(path);
  }

  serve(options: ServingOptions = {}): Serving {
    const serving = new Serving(this.path, options);
    this.#servings.push(serving);
    return serving;
  }

  async close(): Promise<void> {
    for (const { child } of this.#servings) child.kill("SIGKILL");
    await Promise.all(this.#servings.map(({ ended }) => ended));
    await rm(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Children of a process, theirs, and so on. */
export function listDescendants(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const parent = /^PPid:\t(\d+)$/m.exec(readOr(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const below = (above: number): number[] =>
    [...parents].filter(([, parent]) => parent === above).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

/** The command line of a process, with spaces between its words; empty if it has ended. */
export const commandOf = (pid: number): string => readOr(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** Empty if the process has ended. */
export const environmentOf = (pid: number): string => readOr(`/proc/${pid}/environ`);

/** Descendants of a process by their command lines. */
export const findDescendants = (pid: number, pattern: RegExp): readonly number[] =>
  listDescendants(pid).filter((child) => pattern.test(commandOf(child)));

/** Resolves with those that are left when all are gone, or the time is up. */
export async function awaitGone(pids: readonly number[]): Promise<readonly string[]> {
  const deadlineMs = performance.now() + LIMIT_MS / 2;
  for (;;) {
    const left = pids.filter((pid) => existsSync(`/proc/${pid}`) && !isZombie(pid));
    if (left.length === 0 || performance.now() > deadlineMs) return left.map((pid) => `${pid} ${commandOf(pid)}`);
    await wait(POLL_MS);
  }
}

const isZombie = (pid: number): boolean => /^State:\tZ/m.test(readOr(`/proc/${pid}/status`));

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
