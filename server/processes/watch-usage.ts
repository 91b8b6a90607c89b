/** What a child takes of the machine, read from outside of it: its own word would not do. */
import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";

const WATCH_MS = 200;
/** GStreamer and inference take some dozens, more on machines of many cores. */
const MOST_THREADS = 2000;
const KIBIBYTE = 1024;

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** Calls `onExceeded` with the reason, over and over while that lasts. */
export function watchUsage(
  { pid }: ChildProcess,
  memoryBytes: number,
  onExceeded: (reason: string) => void,
): { close(): void } {
  const timer = setInterval(async () => {
    const { rssBytes, threads } = await readUsage(pid);
    if (rssBytes > memoryBytes) onExceeded(`it took ${mebibytes(rssBytes)}, and ${mebibytes(memoryBytes)} are allowed`);
    if (threads > MOST_THREADS) onExceeded(`it has ${threads} threads, and ${MOST_THREADS} are allowed`);
  }, WATCH_MS);
  timer.unref();
  return { close: () => clearInterval(timer) };
}

/** Nothing of a process that is gone. */
async function readUsage(pid: number | undefined): Promise<{ rssBytes: number; threads: number }> {
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  const read = (pattern: RegExp): number => Number(pattern.exec(status)?.[1] ?? 0);
  return { rssBytes: read(/^VmRSS:\s+(\d+) kB$/m) * KIBIBYTE, threads: read(/^Threads:\s+(\d+)$/m) };
}
