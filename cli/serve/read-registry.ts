/** GStreamer's registry as data: a short-lived child looks, so that the server never loads the addon. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../models/cache.ts";
import type { FactoryInfo, Registry } from "../../schemas/registry.ts";

const PROGRAM = fileURLToPath(new URL("registry-program.mjs", import.meta.url));
/** A cold machine with slow disks needs seconds; none needs a minute. */
const LIMIT_MS = 60_000;

export async function readRegistry(): Promise<Registry> {
  const args = [PROGRAM, join(cacheFolder(), "registry")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS, killSignal: "SIGKILL" });
  const text = await readFile(stdout.trim().split("\n").at(-1) ?? "", "utf8");
  const factories = text
    .split("\n")
    .filter((line) => line !== "" && line !== "null")
    .map((line) => JSON.parse(line) as FactoryInfo);
  const byName = new Map(factories.map((factory) => [factory.name, factory]));
  return { list: () => factories, get: (name) => byName.get(name) };
}
