/** A server in a process of its own, from its ready line to its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { CommandFailure } from "../../../cli/command.ts";

/** On however slow a machine. */
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;
const KEPT_CHARACTERS = 2000;

export interface BenchChild {
  readonly url: string;
  /** Of the service: `rtsp://host:port`. */
  readonly rtsp?: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Rejects with what it said when it ends before it is ready, and then it does not run. */
export async function startChild(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<BenchChild> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-KEPT_CHARACTERS);
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), START_LIMIT_MS);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { event, url, rtsp } = JSON.parse(line) as { event: string; url: string; rtsp?: string };
      if (event !== "ready") continue;
      child.stdout.resume();
      return { url, ...(rtsp !== undefined && { rtsp }), pid: child.pid ?? 0, stop: () => stop(child) };
    }
  } finally {
    clearTimeout(limit);
  }
  throw new CommandFailure(`a server of the bench did not start: ${said}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(limit);
}
