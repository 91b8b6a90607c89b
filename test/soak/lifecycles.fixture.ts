/** Pipelines of a child process, and what GStreamer's leaks tracer says at its end. */
import { spawn } from "node:child_process";
import { childCommand } from "../child.fixture.ts";

// A small young generation: by default it grows by 16 MB at once, which would look like a leak.
const CHILD = ["--max-semi-space-size=1", ...childCommand(new URL("lifecycles.child.ts", import.meta.url))];
export const TRACER = { GST_TRACERS: "leaks", GST_DEBUG: "GST_TRACER:7", GST_DEBUG_NO_COLOR: "1" };

/** Lines of the tracer about objects that are alive at the end, without its format declarations. */
export const leaked = (log: string): string[] => log.split("\n").filter((line) => line.includes(":: object-alive,"));

interface Report {
  readonly pipelines: number;
  /** Pipelines that were garbage-collected. */
  readonly collected: number;
  /** Memory after each third of the run. */
  readonly readingsMb: readonly number[];
}

export function runLifecycles(
  pipelines: number,
  env: Record<string, string>,
): Promise<{ report: Report; log: string; code: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...CHILD, String(pipelines)], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let log = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      log += data;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code !== 0) reject(new Error(`the child exited with ${code}: ${log.slice(-2000)}`));
      else resolve({ report: JSON.parse(out) as Report, log, code });
    });
  });
}
