/** One round of requests, by autocannon in a process of its own. */
import { createRequire } from "node:module";
import { CommandFailure } from "../../../cli/command.ts";
import { run } from "../engine.ts";

export interface Shots {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Report {
  readonly requests: { readonly average: number };
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly non2xx: number;
  readonly errors: number;
}

export async function fire(url: string, key: string, connections: number, seconds: number): Promise<Shots> {
  const cannon = createRequire(import.meta.url).resolve("autocannon");
  const words = ["-j", "-n", "-c", String(connections), "-d", String(seconds), "-H", `api_key=${key}`, url];
  const report = JSON.parse(await run(process.execPath, [cannon, ...words])) as Report;
  if (report.non2xx > 0 || report.errors > 0)
    throw new CommandFailure(`${report.non2xx} answers were refusals, and ${report.errors} never came`);
  return { perSecond: report.requests.average, p50Ms: report.latency.p50, p99Ms: report.latency.p99 };
}
