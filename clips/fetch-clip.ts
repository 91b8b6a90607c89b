/** One clip out of a Debian package. */
import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readMember } from "../models/fetch/read-tar.ts";
import { removeStaleParts, withStorageFaults, writeAtomically } from "../models/files.ts";
import type { Clip } from "./clips.ts";

const LIMIT_MS = 15 * 60_000;
const SHOWN_LINES = 6;
/** How `setpriv` and shells say that there is no such program. */
const NOT_FOUND = 127;

export interface Programs {
  readonly aptGet: string;
  readonly dpkgDeb: string;
}

export const DEBIAN: Programs = { aptGet: "apt-get", dpkgDeb: "dpkg-deb" };

/** Throws an Error whose message is the reason; nothing is left then. Does nothing when the clip is there. */
export async function fetchClip(file: string, clip: Clip, programs: Programs = DEBIAN): Promise<void> {
  const place = dirname(file);
  // Also when the clip is there: a run that was killed beside the one that fetched it may have left its package.
  await removeStaleParts(place);
  if (existsSync(file)) return;
  const folder = await withStorageFaults(place, async () => {
    await mkdir(place, { recursive: true });
    return mkdtemp(join(place, ".part-"));
  });
  try {
    const deb = await downloadPackage(clip.deb, folder, programs);
    await writeAtomically(file, readPackage(deb, clip.member, programs), (found) => {
      if (found !== clip.sha256)
        throw new Error(`it is another file: expected sha256 ${clip.sha256}, found sha256 ${found}`);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const APT = [
  ...["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30", "-o", "APT::Update::Error-Mode=any"],
  // As root: what is fetched goes into a folder of ours, which is closed to apt's own user.
  ...["-o", "APT::Sandbox::User=root"],
];

/** With the machine's package lists, or where there are none (a container that threw them away) with lists of our own. */
async function downloadPackage(name: string, folder: string, { aptGet }: Programs): Promise<string> {
  try {
    await run(aptGet, [...APT, "download", name], folder);
  } catch (error) {
    if (error instanceof NoProgram) throw error;
    const [lists, cache] = [join(folder, "lists"), join(folder, "cache")];
    for (const part of [join(lists, "partial"), join(cache, "archives/partial")])
      await withStorageFaults(folder, () => mkdir(part, { recursive: true }));
    const own = [...APT, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    await run(aptGet, [...own, "update"], folder);
    await run(aptGet, [...own, "download", name], folder);
  }
  const deb = (await readdir(folder)).find((file) => file.endsWith(".deb"));
  if (deb === undefined) throw new Error(`apt-get download ${name} left no package`);
  return join(folder, deb);
}

async function* readPackage(
  deb: string,
  member: string,
  { dpkgDeb }: Programs,
): AsyncGenerator<Uint8Array, void, undefined> {
  const child = spawnLimited(dpkgDeb, ["--fsys-tarfile", deb], { stdio: ["ignore", "pipe", "ignore"] });
  const fault = once(child, "close").then(
    () => null,
    (error: unknown) => describeStart(dpkgDeb, error),
  );
  try {
    if (child.stdout !== null) yield* readMember(child.stdout, member);
  } catch (error) {
    child.kill("SIGKILL");
    throw (await fault) ?? error;
  } finally {
    child.kill("SIGKILL");
    await fault;
  }
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  // The kernel ends it with us: whoever is told to fetch no more is ended, and should leave nobody fetching.
  const child = spawnLimited("setpriv", ["--pdeathsig", "KILL", program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-10_000);
    });
  const [code, signal] = (await once(child, "close").catch((error: unknown) => {
    throw describeStart(program, error);
  })) as [number | null, string | null];
  if (code === 0) return;
  if (code === NOT_FOUND) throw noProgram(program, "is not on this machine");
  const tail = output.trim().split("\n").slice(-SHOWN_LINES).join("\n  ");
  const end = code === null ? `was ended by ${signal}` : `exited with ${code}`;
  throw new Error(`${program} ${args.join(" ")} ${end}\n  ${tail}`);
}

/** Not by `timeout` of spawn: its timer outlives a program that could not be started, and keeps this one from ending. */
const spawnLimited = (program: string, args: readonly string[], options: SpawnOptions) =>
  spawn(program, args, { ...options, signal: AbortSignal.timeout(LIMIT_MS), killSignal: "SIGKILL" });

class NoProgram extends Error {
  override readonly name = "NoProgram";
}

function describeStart(program: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ABORT_ERR")
    return new Error(`${program} took longer than ${LIMIT_MS / 60_000} minutes`, { cause: error });
  return noProgram(program, code === "ENOENT" ? "is not on this machine" : `cannot be started (${message})`, error);
}

const noProgram = (program: string, reason: string, cause?: unknown): NoProgram =>
  new NoProgram(`${program} ${reason}; the clip comes out of a Debian package`, { cause });
