/** Processor time and memory of processes, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts processor time in hundredths of a second, on every machine that Debian supports. */
const TICK_S = 0.01;

/** Fields of /proc/PID/stat after the name, which may contain spaces; empty for a process that has ended. */
function readStat(pid: number | "self"): readonly string[] {
  const text = readText(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function readText(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Seconds of processor time of a process and all that it has started, ended ones too. */
export const cpuSeconds = (root: number): number =>
  sum(listTree(root).map((pid) => sum(readStat(pid).slice(11, 15).map(Number)))) * TICK_S;

/** Seconds of processor time of ended children of this process. */
export const childrenCpuSeconds = (): number => sum(readStat("self").slice(13, 15).map(Number)) * TICK_S;

/** Seconds of processor time of the whole machine, but for idle ones. */
export function machineCpuSeconds(): number {
  const [line = ""] = readText("/proc/stat").split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  return sum([user, nice, system, irq, softIrq, steal]) * TICK_S;
}

/** A process with all that it has started. */
export function listTree(root: number): readonly number[] {
  const pids = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const parents = new Map(pids.map((pid) => [pid, Number(readStat(pid)[1])]));
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 0 && (pid === root || isBelow(parents.get(pid)));
  return pids.filter(isBelow);
}

/** Those whose command line contains a text. */
export const named = (pids: readonly number[], text: string): readonly number[] =>
  pids.filter((pid) => readText(`/proc/${pid}/cmdline`).includes(text));

/** Proportional set size in megabytes: memory that several processes share counts in equal parts. */
export const pssMb = (pid: number): number =>
  (Number(/^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1] ?? Number.NaN) * 1024) / 1e6;
