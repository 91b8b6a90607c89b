/** Streams in the service: one process of the graph `detect` each, on a clip that is played in a loop like a camera. */
import { openAsBlob } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { makeKey } from "../../../server/keys/keys.ts";
import { type BenchChild, callApi, startService } from "../harness.ts";
import { cpuSeconds, listTree, machineCpuSeconds, named, pssMb } from "./usage.ts";

/** Until latencies are those of the current load. */
const SETTLE_MS = 8_000;
const POLL_MS = 1_000;
/** Of processes, in their command lines. */
const RUNNER = "runner/runner.mjs";

/** A number of streams for some seconds. */
export interface Trial {
  readonly streams: number;
  /** Of the slowest stream. */
  readonly p95Ms: number;
  /** Of the slowest stream: frames per second, and inferences per second. */
  readonly fps: number;
  readonly inferences: number;
  readonly dropped: number;
  /** Processor cores per stream. */
  readonly cores: number;
  /** Processor cores that other programs used meanwhile. */
  readonly others: number;
  /** Megabytes of each runner, the largest first. */
  readonly memoryMb: readonly number[];
}

interface Stats {
  readonly fps_out: number;
  readonly fps_processed: number;
  readonly frames_dropped: number;
  readonly latency_ms: { readonly p95: number };
}

export class Streams {
  readonly #service: BenchChild;
  readonly #api: { readonly url: string; readonly key: string };
  readonly #source: string;
  readonly #every: number;
  readonly #running: string[] = [];

  private constructor(service: BenchChild, api: { url: string; key: string }, source: string, every: number) {
    this.#service = service;
    this.#api = api;
    this.#source = source;
    this.#every = every;
  }

  static async open(folder: string, clip: string, every: number): Promise<Streams> {
    const key = makeKey();
    const limits = {
      WINDHOVER_LIMITS_PROCESSES: "1000",
      WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000",
      // Starts may be slow while others run; only the running streams are measured.
      WINDHOVER_RUNNERS_START_SECONDS: "60",
    };
    const service = await startService(folder, key, limits);
    const api = { url: service.url, key };
    const form = new FormData();
    form.append("loop", "true");
    form.append("file", await openAsBlob(clip), "clip.mp4");
    const { body } = await callApi<{ source_uuid: string }>(api, "POST", "/video", form);
    return new Streams(service, api, body.source_uuid, every);
  }

  async try(streams: number, seconds: number): Promise<Trial> {
    while (this.#running.length > streams) await callApi(this.#api, "DELETE", `/process/${this.#running.pop() ?? ""}`);
    while (this.#running.length < streams) {
      const order = { params: { every: this.#every } };
      const path = `/start?source_uuid=${this.#source}`;
      this.#running.push((await callApi<{ process_uuid: string }>(this.#api, "POST", path, order)).body.process_uuid);
    }
    await wait(SETTLE_MS);
    const dropped = (all: readonly Stats[]) => all.reduce((sum, { frames_dropped }) => sum + frames_dropped, 0);
    const droppedBefore = dropped(await this.#readStats());
    const { pid } = this.#service;
    const before = { ours: cpuSeconds(pid), all: machineCpuSeconds(), ms: performance.now() };
    const polled: Stats[][] = [];
    for (const untilMs = before.ms + seconds * 1000; performance.now() < untilMs; ) {
      await wait(POLL_MS);
      polled.push(await this.#readStats());
    }
    const passedS = (performance.now() - before.ms) / 1000;
    const ours = (cpuSeconds(pid) - before.ours) / passedS;
    // The spare runner waits for a stream of its own.
    const memoryMb = named(listTree(pid), RUNNER)
      .map(pssMb)
      .sort((a, b) => b - a)
      .slice(0, streams);
    const slowest = (read: (stats: Stats) => number, best: (...values: number[]) => number): number =>
      best(...Array.from({ length: streams }, (_, at) => mean(polled.map((all) => read(all[at] as Stats)))));
    return {
      ...{ streams, memoryMb, cores: ours / streams },
      p95Ms: slowest(({ latency_ms }) => latency_ms.p95, Math.max),
      fps: slowest(({ fps_out }) => fps_out, Math.min),
      inferences: slowest(({ fps_processed }) => fps_processed, Math.min),
      dropped: dropped(polled.at(-1) ?? []) - droppedBefore,
      others: (machineCpuSeconds() - before.all) / passedS - ours,
    };
  }

  close(): Promise<void> {
    return this.#service.stop();
  }

  /** Zeros for a stream that has ended. */
  #readStats(): Promise<Stats[]> {
    const none: Stats = { fps_out: 0, fps_processed: 0, frames_dropped: 0, latency_ms: { p95: Number.NaN } };
    return Promise.all(
      this.#running.map(async (uuid) => {
        const { body } = await callApi<{ stats: Stats | null }>(this.#api, "GET", `/process/${uuid}`);
        return body.stats ?? none;
      }),
    );
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
