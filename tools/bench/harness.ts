/** What the benchmarks share: rounds, medians, child processes, a temporary service and a test clip. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CommandFailure, UsageFault } from "../../cli/command.ts";

export const COMMAND = fileURLToPath(new URL("../../cli/windhover.mjs", import.meta.url));
const CACHE = fileURLToPath(new URL("../../build/bench/", import.meta.url));
const ROUNDS = 5;
const MOST_ROUNDS = 1000;
/** Limits for slow machines. */
const RUN_LIMIT_MS = 300_000;
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;
const KEPT_CHARACTERS = 2000;

/** The argument `[ROUNDS]` of a benchmark. Throws `UsageFault`. */
export function readRounds([text, extra]: readonly string[], usual = ROUNDS): number {
  if (extra !== undefined) throw new UsageFault(`unexpected argument "${extra}"; expected [ROUNDS]`);
  if (text === undefined) return usual;
  const rounds = /^\d+$/.test(text) ? Number(text) : 0;
  if (rounds >= 1 && rounds <= MOST_ROUNDS) return rounds;
  throw new UsageFault(`the number of rounds is "${text}"; expected a whole number from 1 to ${MOST_ROUNDS}`);
}

export function median(list: readonly number[] = []): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Lowest and highest value. */
export const spreadOf = (list: readonly number[], digits: number): string =>
  `${Math.min(...list).toFixed(digits)} … ${Math.max(...list).toFixed(digits)}`;

/** Runs a program; resolves with its standard output. Rejects with `CommandFailure`. */
export async function run(program: string, args: readonly string[], limitMs = RUN_LIMIT_MS): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: limitMs, killSignal: "SIGKILL" });
    return stdout;
  } catch (cause) {
    const { killed, stderr, message } = cause as { killed?: boolean; stderr?: string; message: string };
    const reason = killed ? `did not end within ${limitMs / 1000} s` : `failed: ${stderr?.trim() || message}`;
    throw new CommandFailure(`${basename(program)} ${reason}`, { cause });
  }
}

/** Runs a TypeScript program in its own process, so that nothing of one measurement affects the next. */
export const runTypeScript = async <T>(program: URL, ...args: readonly string[]): Promise<T> =>
  JSON.parse(await run(process.execPath, ["--import", "tsx", fileURLToPath(program), ...args])) as T;

/** Runs `work` with a temporary folder that the user of a private database can read. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-bench-"));
  try {
    await chmod(folder, 0o755);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

export interface BenchChild {
  readonly url: string;
  /** Of the service: `rtsp://host:port`. */
  readonly rtsp?: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the service on free ports, with its data in `folder`. `key` is its first API key. */
export const startService = (folder: string, key: string, env: NodeJS.ProcessEnv = {}): Promise<BenchChild> =>
  startChild([COMMAND, "serve"], folder, {
    ...process.env,
    WINDHOVER_DATA_DIR: join(folder, "data"),
    WINDHOVER_BOOTSTRAP_KEY: key,
    WINDHOVER_HTTP_PORT: "0",
    WINDHOVER_RTSP_PORT: "0",
    WINDHOVER_RTMP_PORT: "0",
    WINDHOVER_SRT_PORT: "0",
    ...env,
  });

/** Starts a server that prints a ready line. Rejects with its last output if it ends before. */
export async function startChild(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<BenchChild> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-KEPT_CHARACTERS);
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
  throw new CommandFailure(`a server of the benchmark did not start: ${output}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(limit);
}

export interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** Calls the REST API with a JSON or form body. Throws `CommandFailure` for an error response. */
export async function callApi<T>(
  { url, key }: { readonly url: string; readonly key: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const isForm = body instanceof FormData;
  const headers = { api_key: key, ...(isForm ? {} : { "content-type": "application/json" }) };
  const init = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...init });
  if (!response.ok) throw new CommandFailure(`${method} ${path}: ${response.status} ${await response.text()}`);
  return { body: (await response.json()) as T, headers: response.headers };
}

export const SIZES = [
  { name: "720p", width: 1280, height: 720, kbps: 3000 },
  { name: "1080p", width: 1920, height: 1080, kbps: 6000 },
] as const;
export const CLIP_FRAMES = 600;

/** A moving test pattern with detail everywhere, at the bit rate of a camera; cached in build/bench/. */
export async function makeClip({ name, width, height, kbps }: (typeof SIZES)[number]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const clip = `${CACHE}engine-${name}.mp4`;
  if (existsSync(clip)) return clip;
  const part = `${clip}.part`;
  const line =
    `videotestsrc pattern=zone-plate kx2=12 ky2=12 kt=2 num-buffers=${CLIP_FRAMES} ! video/x-raw,format=I420,width=${width},height=${height},framerate=25/1` +
    ` ! x264enc speed-preset=veryfast bitrate=${kbps} key-int-max=50 ! h264parse ! mp4mux ! filesink`;
  // One argument, because the path may contain spaces.
  await run("gst-launch-1.0", [...line.split(" "), `location=${part}`]);
  renameSync(part, clip);
  return clip;
}
