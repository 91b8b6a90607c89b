/** The real command in a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

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
export const windhover = (args: readonly string[], cwd = ROOT, variables: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  start(args, cwd, variables).done;

/** A temporary folder, removed after the test file. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "windhover-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
