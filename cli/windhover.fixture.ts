/** The command in this process, and in a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
// It starts its process in the working directory in which it is loaded, and those of commands are removed with their test.
import "esbuild";
import { FOLDERS_VARIABLE } from "../schemas/folders.ts";
import { runCommand } from "./main.ts";
import { TextWriter } from "./terminal.fixture.ts";
import { Terminal } from "./terminal.ts";

const COMMAND = fileURLToPath(new URL("windhover.mjs", import.meta.url));
export const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Turns a hang into a failure. */
const LIMIT_MS = 60_000;

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Of standard output. */
  readonly lines: readonly string[];
}

export class Running {
  readonly child: ChildProcess;
  readonly done: Promise<Outcome>;
  stdout = "";
  stderr = "";
  #onOutput: () => void = () => {};

  constructor(args: readonly string[], cwd: string, variables: NodeJS.ProcessEnv) {
    const env = { ...process.env, NO_COLOR: "1", ...variables };
    this.child = spawn(process.execPath, [COMMAND, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => this.child.kill("SIGKILL"), LIMIT_MS);
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#onOutput();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#onOutput();
    });
    this.done = once(this.child, "close").then(([code]) => {
      clearTimeout(timer);
      const lines = this.stdout.split("\n").slice(0, -1);
      return { code: code as number | null, stdout: this.stdout, stderr: this.stderr, lines };
    });
  }

  /** Resolves once the output so far fits; rejects when the command ends before. */
  async until(fits: (running: this) => boolean): Promise<void> {
    while (!fits(this)) {
      const output = new Promise<null>((resolve) => {
        this.#onOutput = () => resolve(null);
      });
      const outcome = await Promise.race([output, this.done]);
      if (outcome !== null && !fits(this))
        throw new Error(`ended before: ${this.stdout.slice(-500)}${this.stderr.slice(-500)}`);
    }
  }

  get printed(): number {
    return this.stdout.split("\n").length - 1;
  }
}

export const start = (args: readonly string[], cwd = ROOT, variables: NodeJS.ProcessEnv = {}): Running =>
  new Running(args, cwd, variables);
/** In a child process. */
export const spawnWindhover = (
  args: readonly string[],
  cwd = ROOT,
  variables: NodeJS.ProcessEnv = {},
): Promise<Outcome> => start(args, cwd, variables).done;

let last: Promise<unknown> = Promise.resolve();

/**
 * In this process, one after the other: to load the command in a child process takes longer than most commands run. For
 * those that end by themselves, print through the terminal only, and load no element from a file that the test changes.
 */
export function windhover(args: readonly string[], cwd = ROOT, variables: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const outcome = last.then(() => runHere(args, cwd, variables));
  last = outcome.catch(() => {});
  return outcome;
}

async function runHere(args: readonly string[], cwd: string, variables: NodeJS.ProcessEnv): Promise<Outcome> {
  const [out, err] = [new TextWriter(), new TextWriter()];
  const folder = process.cwd();
  const during = { NO_COLOR: "1", ...variables };
  const before = [...Object.keys(during), FOLDERS_VARIABLE].map((name) => [name, process.env[name]] as const);
  process.chdir(cwd);
  Object.assign(process.env, during);
  try {
    const terminal = new Terminal(out, err, process.env);
    const code = await runCommand(args, terminal);
    await terminal.flush();
    return { code, stdout: out.text, stderr: err.text, lines: out.text.split("\n").slice(0, -1) };
  } finally {
    process.chdir(folder);
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}

/** A temporary folder, removed after the test file. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "windhover-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
