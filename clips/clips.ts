/** Real clips from Debian packages, for the demo and for tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cacheFolder } from "../models/cache.ts";
import { readMember } from "../models/fetch/read-tar.ts";
import { removeStaleParts, withStorageFaults, writeAtomically } from "../models/files.ts";
import { limitTime } from "../models/time-limit.ts";

/** Of the whole download. Not spawn's `timeout`: after a failed start its timer delays the exit of this process. */
const LIMIT_MS = 15 * 60_000;
const SHOWN_LINES = 6;
/** Exit code of `setpriv` and shells for a missing program. */
const NOT_FOUND = 127;

export interface Programs {
  readonly aptGet: string;
  readonly dpkgDeb: string;
}

const DEBIAN: Programs = { aptGet: "apt-get", dpkgDeb: "dpkg-deb" };

interface FetchOptions {
  readonly programs?: Programs;
  readonly signal?: AbortSignal;
}

/** Does nothing if the clip exists. On failure throws an Error whose message is the reason, and leaves no file. */
export async function fetchClip(
  file: string,
  clip: Clip,
  { programs = DEBIAN, signal }: FetchOptions = {},
): Promise<void> {
  const tools = { ...programs, signal: limitTime(LIMIT_MS, signal) };
  const target = dirname(file);
  // Even if the clip exists: a killed process may have left its package.
  await removeStaleParts(target);
  if (existsSync(file)) return;
  const folder = await withStorageFaults(target, async () => {
    await mkdir(target, { recursive: true });
    return mkdtemp(join(target, ".part-"));
  });
  try {
    const deb = await downloadPackage(clip.deb, folder, tools);
    await writeAtomically(file, readPackage(deb, clip.member, tools), (found) => {
      if (found !== clip.sha256)
        throw new Error(`wrong checksum: expected sha256 ${clip.sha256}, found sha256 ${found}`);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Tools extends Programs {
  readonly signal: AbortSignal;
}

const APT = [
  ...["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30", "-o", "APT::Update::Error-Mode=any"],
  // As root: apt's own user may not write to the download folder.
  ...["-o", "APT::Sandbox::User=root"],
];

/** Uses the machine's package lists, or fetches lists if there are none (as in a container that removed them). */
async function downloadPackage(name: string, folder: string, { aptGet, signal }: Tools): Promise<string> {
  try {
    await run(aptGet, [...APT, "download", name], folder, signal);
  } catch (error) {
    if (error instanceof NoProgram || signal.aborted) throw error;
    const [lists, cache] = [join(folder, "lists"), join(folder, "cache")];
    for (const part of [join(lists, "partial"), join(cache, "archives/partial")])
      await withStorageFaults(folder, () => mkdir(part, { recursive: true }));
    const own = [...APT, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    await run(aptGet, [...own, "update"], folder, signal);
    await run(aptGet, [...own, "download", name], folder, signal);
  }
  const deb = (await readdir(folder)).find((file) => file.endsWith(".deb"));
  if (deb === undefined) throw new Error(`apt-get download ${name} left no package`);
  return join(folder, deb);
}

async function* readPackage(
  deb: string,
  member: string,
  { dpkgDeb, signal }: Tools,
): AsyncGenerator<Uint8Array, void, undefined> {
  const child = spawn(dpkgDeb, ["--fsys-tarfile", deb], {
    stdio: ["ignore", "pipe", "ignore"],
    signal,
    killSignal: "SIGKILL",
  });
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

async function run(program: string, args: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  // The kernel kills it with this process, so that no download outlives the server.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-10_000);
    });
  const [code, killedBy] = (await once(child, "close").catch((error: unknown) => {
    throw describeStart(program, error);
  })) as [number | null, string | null];
  if (code === 0) return;
  if (code === NOT_FOUND) throw noProgram(program, "is not on this machine");
  const tail = output.trim().split("\n").slice(-SHOWN_LINES).join("\n  ");
  const end = code === null ? `was killed by ${killedBy}` : `exited with ${code}`;
  throw new Error(`${program} ${args.join(" ")} ${end}\n  ${tail}`);
}

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
  new NoProgram(`${program} ${reason}; it is needed because the clip is in a Debian package`, { cause });

export interface Clip {
  /** Debian package that contains it. */
  readonly deb: string;
  readonly member: string;
  readonly sha256: string;
}

export const CLIPS = {
  /** Pedestrians on a campus, 768×576, 795 frames. */
  "vtest.avi": {
    deb: "opencv-doc",
    member: "./usr/share/doc/opencv-doc/examples/data/vtest.avi",
    sha256: "45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf",
  },
} as const satisfies Readonly<Record<string, Clip>>;

export const clipFile = (name: string): string => join(cacheFolder(), "clips", name);
