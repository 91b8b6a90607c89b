import { spawn } from "node:child_process";

/** Lines kept of a command's output: enough for any compiler error, and a bound for endless output. */
const KEPT_LINES = 400;
const GRACE_MS = 3000;

/** Multiplies all limits, for emulated processors. */
export const PATIENCE = Number(process.env.WINDHOVER_TEST_PATIENCE ?? 1);

/** Every command runs in its own process group, so that a signal also ends its child processes. */
const running = new Set();
let interrupted = false;

/** Whether a signal is ending this process: commands then fail because of it. */
export const isInterrupted = () => interrupted;

export class CommandFailure extends Error {
  name = "CommandFailure";
  /** @param {string} command @param {string} reason @param {readonly string[]} lines @param {boolean} late */
  constructor(command, reason, lines, late) {
    super(`${command}\n  ${reason}`);
    this.command = command;
    this.reason = reason;
    this.lines = lines;
    this.late = late;
  }
}

/**
 * Runs a command to its end and resolves with its output; rejects with `CommandFailure` when it fails or takes longer
 * than `limitMs`. `onLine` receives each line; with `show` the command inherits stdout and stderr, and no output is kept.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{
 *   cwd?: string, env?: NodeJS.ProcessEnv, limitMs?: number, onLine?: (line: string) => void, show?: boolean
 * }} [options]
 * @returns {Promise<string>}
 */
export function runCommand(program, args, { cwd, env, limitMs = 20 * 60_000, onLine, show = false } = {}) {
  const command = [program, ...args].map(quote).join(" ");
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: show ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    const kept = [];
    const addLine = (line) => {
      kept.push(line);
      if (kept.length > KEPT_LINES) kept.shift();
      onLine?.(line);
    };
    const flushes = [child.stdout, child.stderr].filter(Boolean).map((stream) => splitLines(stream, addLine));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup(child, "SIGKILL");
    }, limitMs * PATIENCE);
    const settle = (reason) => {
      clearTimeout(timer);
      running.delete(child);
      for (const flush of flushes) flush();
      if (reason === null) resolve(kept.join("\n"));
      else reject(new CommandFailure(command, reason, kept, late));
    };
    child.on("error", (error) => settle(`could not be started: ${error.message}`));
    child.on("close", (code, signal) => {
      if (late) settle(`took longer than ${Math.round((limitMs * PATIENCE) / 1000)} s and was ended`);
      else if (code !== 0) settle(signal ? `was ended by ${signal}` : `exited with ${code}`);
      else settle(null);
    });
  });
}

/** After this call SIGINT, SIGTERM and SIGHUP end every running command with its child processes, then this process. */
export function endCommandsOnSignal() {
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
    ["SIGHUP", 1],
  ]) {
    process.once(signal, () => {
      interrupted = true;
      for (const child of running) endGroup(child, "SIGTERM");
      const leave = () => process.exit(128 + number);
      if (running.size === 0) leave();
      setTimeout(() => {
        for (const child of running) endGroup(child, "SIGKILL");
        leave();
      }, GRACE_MS);
      for (const child of running) child.once("close", () => setImmediate(() => running.size === 0 && leave()));
    });
  }
}

function endGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function splitLines(stream, addLine) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk) => {
    const lines = (rest + chunk).split(/\r?\n|\r/);
    rest = lines.pop();
    for (const line of lines) addLine(line);
  });
  return () => rest !== "" && addLine(rest);
}

const quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
