/** Fetches a package's tarball with npm, which has the settings for registry, proxies and credentials. */

import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { homeFolder, isWritable } from "../cache.ts";
import { StorageFault } from "../fault.ts";
import { digestFile } from "../files.ts";

/** npm reads the project's own settings from here. */
const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const LIMIT_MS = 10 * 60_000;
const KEPT_CHARACTERS = 20_000;

/**
 * Puts the tarball into `folder`, which is empty, and returns its path. Throws an Error whose message is the reason,
 * also for a wrong checksum; `StorageFault` when the disk is full. Scripts of the package do not run.
 */
export async function fetchTarball(
  { npm, integrity }: { readonly npm: string; readonly integrity: string },
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  await runNpm(
    [
      ...["pack", npm, "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder],
      ...["--fetch-timeout=60000", "--fetch-retries=2", "--fetch-retry-mintimeout=1000"],
      ...["--fetch-retry-maxtimeout=5000", "--no-update-notifier", ...placeCache(folder)],
    ],
    signal,
  );
  const [name] = (await readdir(folder)).filter((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack succeeded, but wrote no tarball");
  const tarball = join(folder, name);
  const found = `sha512-${await digestFile(tarball, "sha512", "base64")}`;
  if (found !== integrity)
    throw new Error(
      `the tarball has another checksum than the card states:\n  expected ${integrity}\n  found    ${found}`,
    );
  return tarball;
}

/** npm fails without a writable cache folder, which a service account may not have. */
function placeCache(folder: string): readonly string[] {
  const home = homeFolder();
  const isNamed = (process.env.npm_config_cache ?? "") !== "";
  return isNamed || (home !== null && isWritable(join(home, ".npm"))) ? [] : ["--cache", join(folder, "npm-cache")];
}

function runNpm(args: readonly string[], signal: AbortSignal): Promise<void> {
  // Under `npm test` this is the running npm, which need not be the first in the PATH.
  const cli = process.env.npm_execpath ?? "";
  const [program, before] = cli.endsWith("npm-cli.js") ? [process.execPath, [cli]] : ["npm", []];
  return new Promise((resolve, reject) => {
    // In its own process group, so that killing it also kills its children.
    const child = spawn(program, [...before, ...args], {
      cwd: CHECKOUT,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { out: "", err: "" };
    const keep = (to: "out" | "err") => (text: string) => {
      output[to] = (output[to] + text).slice(-KEPT_CHARACTERS);
    };
    child.stdout.setEncoding("utf8").on("data", keep("out"));
    child.stderr.setEncoding("utf8").on("data", keep("err"));
    let ended: string | null = null;
    const end = (reason: string): void => {
      ended ??= reason;
      if (child.pid !== undefined) killGroup(child.pid);
    };
    const timer = setTimeout(() => end(`npm pack took longer than ${LIMIT_MS / 60_000} minutes`), LIMIT_MS);
    const onAbort = (): void => end("interrupted");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const settle = (fault: Error | null): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      if (fault === null) resolve();
      else reject(fault);
    };
    child.on("error", (error) => settle(new Error(`npm could not be started: ${error.message}`)));
    child.on("close", (code) => {
      if (code === 0) settle(null);
      else settle(ended === null ? explain(output.out, output.err, code) : new Error(ended));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const UNREACHED = ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"];
const SHOWN_LINES = 3;

/** npm's own message, shortened. With --json it is JSON on standard output. */
function explain(out: string, err: string, code: number | null): Error {
  const { code: cause, summary } = readError(out);
  const lines = (summary === "" ? err : summary)
    .split("\n")
    .map((line) => line.replace(/^npm (error|ERR!|warn|WARN)\s*/, "").trim())
    .filter((line) => line !== "" && !/complete log|^code |^errno |^syscall /.test(line));
  const words = lines.slice(0, SHOWN_LINES).join("; ") || `npm pack exited with ${code}`;
  // npm may also crash on a full disk before it writes its JSON.
  if (/\b(ENOSPC|EDQUOT)\b/.test(`${cause} ${err}`))
    return new StorageFault(
      `the disk is full, npm cannot store the package: ${words}\n` +
        "free some space, or set WINDHOVER_CACHE_DIR and npm_config_cache to folders on another disk",
    );
  if (cause === "E404") return new Error(`the registry does not have it: ${words}`);
  if (UNREACHED.includes(cause)) return new Error(`the registry cannot be reached (${cause}): ${words}`);
  return new Error(words);
}

function readError(out: string): { readonly code: string; readonly summary: string } {
  try {
    const { error } = JSON.parse(out) as { error?: { code?: unknown; summary?: unknown } };
    return { code: String(error?.code ?? ""), summary: String(error?.summary ?? "") };
  } catch {
    return { code: "", summary: "" };
  }
}
