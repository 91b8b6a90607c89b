/** A client as any integrator has it, which measures how it is served. */
import { setTimeout as sleep } from "node:timers/promises";
import { ADDRESS, type Target } from "./target.fixture.ts";

/** Below what a key may ask for: 1200 a minute. */
const PAUSE_MS = 60;

export interface Served {
  readonly requests: number;
  readonly failures: readonly string[];
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Asks one thing after another until the signal. */
export async function beServed(target: Target, signal: AbortSignal): Promise<Served> {
  const { process, source } = target.owned;
  const paths = ["/processes", `/process/${process}`, "/sources", `/source/${source}`, "/status", "/alerts"];
  const times: number[] = [];
  const failures: string[] = [];
  for (let turn = 0; !signal.aborted; turn++) {
    const path = paths[turn % paths.length] ?? "/status";
    const startedMs = performance.now();
    try {
      const { status, text } = await target.call("GET", path, { key: target.keyB, address: ADDRESS.tenantB });
      if (status !== 200) failures.push(`${path}: ${status} ${text.slice(0, 200)}`);
    } catch (error) {
      failures.push(`${path}: ${String(error)}`);
    }
    times.push(performance.now() - startedMs);
    await sleep(PAUSE_MS);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { requests: times.length, failures, medianMs: at(0.5), p99Ms: at(0.99) };
}

/** For so long. */
export const measureFor = (target: Target, ms: number): Promise<Served> => beServed(target, AbortSignal.timeout(ms));
