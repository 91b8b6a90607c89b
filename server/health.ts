/** How the parts of the service are: each `ok`, or why not. */
import { statfs } from "node:fs/promises";
import type { Config } from "../schemas/config.ts";

export type Components = Readonly<Record<string, string>>;

interface HealthNeeds {
  readonly config: Pick<Config, "data_dir" | "disk">;
  /** By the name of the part: null when it is well. Must answer in bounded time. */
  readonly checks: Readonly<Record<string, () => Promise<string | null> | string | null>>;
}

/** Never rejects. */
export async function checkHealth({ config, checks }: HealthNeeds): Promise<Components> {
  const all: HealthNeeds["checks"] = { ...checks, disk: () => judgeDisk(config) };
  const entries = Object.entries(all).map(async ([name, check]) => [name, (await attempt(check)) ?? "ok"] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function attempt(check: () => Promise<string | null> | string | null): Promise<string | null> {
  try {
    return await check();
  } catch {
    return "it could not be checked";
  }
}

async function judgeDisk({ data_dir, disk }: HealthNeeds["config"]): Promise<string | null> {
  const { bavail, bsize } = await statfs(data_dir);
  const free = bavail * bsize;
  if (free >= disk.reserve_bytes) return null;
  const mebibytes = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`;
  return `${mebibytes(free)} are free, and uploads are refused below ${mebibytes(disk.reserve_bytes)}`;
}
