/** GStreamer's registry as data: a short-lived child looks, so that the server never loads the addon. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { FactoryInfo, Registry } from "../../schemas/registry.ts";
import { registryFile } from "./registry-file.ts";

const PROGRAM = fileURLToPath(new URL("registry-program.mjs", import.meta.url));
/** A cold machine with slow disks needs seconds; none needs a minute. */
const LIMIT_MS = 60_000;

export async function readRegistry(): Promise<Registry> {
  const known = registryFile();
  const file = known !== null && existsSync(known) ? known : await describe();
  const factories = (await readFile(file, "utf8"))
    .split("\n")
    .filter((line) => line !== "" && line !== "null")
    .map((line) => JSON.parse(line) as FactoryInfo);
  const byName = new Map(factories.map((factory) => [factory.name, factory]));
  return { list: () => factories, get: (name) => byName.get(name) };
}

async function describe(): Promise<string> {
  const limits = { timeout: LIMIT_MS, killSignal: "SIGKILL" } as const;
  const { stdout } = await promisify(execFile)("setpriv", ["--pdeathsig", "KILL", process.execPath, PROGRAM], limits);
  return stdout.trim().split("\n").at(-1) ?? "";
}
