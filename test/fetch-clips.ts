/**
 * Fetches the clips that the tests look at, once, into the cache. A machine without apt or without a network does without
 * them: the tests that need one are skipped, and this says why.
 *
 *   node --import tsx test/fetch-clips.ts
 */
import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readMember } from "../models/fetch/read-tar.ts";
import { sweepParts, writeWhole } from "../models/write-file.ts";
import { CLIPS, clipFile } from "./clips.fixture.ts";

const LIMIT_MS = 15 * 60_000;
const SHOWN_LINES = 6;

const APT = [
  ...["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30", "-o", "APT::Update::Error-Mode=any"],
  // As root: what is fetched goes into a folder of ours, which is closed to apt's own user.
  ...["-o", "APT::Sandbox::User=root"],
];

const spawnLimited = (program: string, args: readonly string[], options: SpawnOptions) =>
  spawn(program, args, { ...options, timeout: LIMIT_MS, killSignal: "SIGKILL" });

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawnLimited(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-10_000);
    });
  const [code] = (await once(child, "close")) as [number | null];
  if (code === 0) return;
  const tail = output.trim().split("\n").slice(-SHOWN_LINES).join("\n  ");
  throw new Error(`${program} ${args.join(" ")} exited with ${code}\n  ${tail}`);
}

/** With the machine's package lists, or where there are none (a container that threw them away) with lists of our own. */
async function downloadPackage(name: string, folder: string): Promise<string> {
  try {
    await run("apt-get", [...APT, "download", name], folder);
  } catch {
    const [lists, cache] = [join(folder, "lists"), join(folder, "cache")];
    for (const part of [join(lists, "partial"), join(cache, "archives/partial")])
      await mkdir(part, { recursive: true });
    const own = [...APT, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    await run("apt-get", [...own, "update"], folder);
    await run("apt-get", [...own, "download", name], folder);
  }
  const deb = (await readdir(folder)).find((file) => file.endsWith(".deb"));
  if (deb === undefined) throw new Error(`apt-get download ${name} left no package`);
  return join(folder, deb);
}

async function* readPackage(deb: string, member: string): AsyncGenerator<Uint8Array, void, undefined> {
  const child = spawnLimited("dpkg-deb", ["--fsys-tarfile", deb], { stdio: ["ignore", "pipe", "ignore"] });
  const closed = once(child, "close");
  try {
    if (child.stdout === null) throw new Error("dpkg-deb gave nothing to read");
    yield* readMember(child.stdout, member);
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}

for (const [name, { sha256, deb, member }] of Object.entries(CLIPS)) {
  const file = clipFile(name);
  if (existsSync(file)) continue;
  await mkdir(dirname(file), { recursive: true });
  await sweepParts(dirname(file));
  const folder = await mkdtemp(join(dirname(file), ".part-"));
  try {
    await writeWhole(file, readPackage(await downloadPackage(deb, folder), member), (found) => {
      if (found !== sha256) throw new Error(`${name} is another file: expected sha256 ${sha256}, found ${found}`);
    });
  } catch (error) {
    console.error(`${name} cannot be had: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
