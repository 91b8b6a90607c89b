/** Streams of plain scripts: one `plain.ts` each, in real time. */
import { execFile } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Trial } from "./streams.ts";
import { cpuSeconds, listTree, machineCpuSeconds, named, pssMb } from "./usage.ts";

const SCRIPT = fileURLToPath(new URL("plain.ts", import.meta.url));
/** To load, and until latencies are those of the load. */
const SETTLE_S = 10;
const FPS = 25;

export async function tryPlain(
  clip: string,
  model: string,
  every: number,
  streams: number,
  seconds: number,
): Promise<Trial> {
  const args = ["--import", "tsx", SCRIPT, clip, model, String(every), String(SETTLE_S + seconds)];
  const running = Array.from({ length: streams }, () => promisify(execFile)(process.execPath, args));
  const results = Promise.all(running);
  results.catch(() => {}); // awaited below
  await wait(SETTLE_S * 1000);
  const roots = running.map(({ child }) => child.pid ?? 0);
  // A script plays its clip again and again, with a process of its own each time.
  const readOurs = () => roots.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = { ours: readOurs(), all: machineCpuSeconds(), ms: performance.now() };
  await wait(seconds * 1000 - 1000);
  const passedS = (performance.now() - before.ms) / 1000;
  const ours = (readOurs() - before.ours) / passedS;
  const others = (machineCpuSeconds() - before.all) / passedS - ours;
  const scripts = named(roots.flatMap(listTree), SCRIPT);
  const memoryMb = scripts.map((pid) => listTree(pid).reduce((sum, one) => sum + pssMb(one), 0)).sort((a, b) => b - a);
  const latencies = (await results).map(({ stdout }) => {
    const { latenciesMs } = JSON.parse(stdout) as { latenciesMs: readonly number[] };
    return latenciesMs.slice(-Math.floor((seconds * FPS) / every)).sort((a, b) => a - b);
  });
  const inferences = Math.min(...latencies.map(({ length }) => length / seconds));
  return {
    ...{ streams, memoryMb, others, inferences, cores: ours / streams },
    p95Ms: Math.max(...latencies.map((sorted) => sorted[Math.floor(0.95 * (sorted.length - 1))] ?? Number.NaN)),
    fps: inferences * every,
    dropped: 0,
  };
}
