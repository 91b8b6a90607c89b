/**
 * Stops, starves and kills what runs inference, under several live streams: no stream is lost, tracks keep their ids while
 * inference is missing, ids are never used twice, and memory stays flat. Prints how long detections were missing.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { rounds, seededRandom } from "./rounds.fixture.ts";

const run = promisify(execFile);
const STREAMS = rounds(2, 8);
const ROUNDS = rounds(3, 50);
/** Two inferences a second on 10 fps: eight streams fit on two cores. */
const EVERY = 5;
/** Much longer than it may take to replace a worker. */
const FAULT_MS = 4_000;
/** Of all runners together, between the first and the last quarter of the rounds. */
const MAX_GROWTH_MB = 8 * STREAMS;
/** Share of the tracks before a fault that are there afterwards: some people leave meanwhile. */
const MIN_KEPT = 0.5;
const FAULTS = ["hang", "starve", "kill"] as const;
type Fault = (typeof FAULTS)[number];

const clip = testClip("vtest.avi");
const folder = temporaryFolder();
const HOLD = join(folder, "hold-thread");

/** The longest time between two messages, and the ids of tracks around it. */
interface Gap {
  readonly ms: number;
  /** In the last message before. */
  readonly before: ReadonlySet<number>;
  /** In the messages after it. */
  readonly after: ReadonlySet<number>;
  /** Of all messages before. */
  readonly highest: number;
}

/** The messages of one process. */
class Stream {
  readonly uuid: string;
  readonly #detections: Detections;
  #highest = 0;

  private constructor(uuid: string, detections: Detections) {
    this.uuid = uuid;
    this.#detections = detections;
  }

  static async start(service: TestService, source: string): Promise<Stream> {
    const json = { params: { every: EVERY } };
    const path = `/start?source_uuid=${source}`;
    const started = await service.expect<StartedProcess>(201, "POST", path, { json });
    return new Stream(started.process_uuid, await Detections.open(started.detection_data_url));
  }

  /** Forgets all messages but the last. */
  forget(): void {
    const { messages } = this.#detections;
    for (const id of idsOf(messages)) this.#highest = Math.max(this.#highest, id);
    messages.splice(0, messages.length - 1);
  }

  async next(count: number): Promise<void> {
    await this.#detections.next(count);
  }

  /** Of the messages since `forget`. */
  findGap(): Gap {
    const { messages } = this.#detections;
    const times = messages.map(({ timestamp }) => Date.parse(timestamp));
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
    const ms = Math.max(0, ...gaps);
    const at = gaps.indexOf(ms) + 1;
    const highest = Math.max(this.#highest, ...idsOf(messages.slice(0, at)));
    return { ms, before: idsOf(messages.slice(at - 1, at)), after: idsOf(messages.slice(at)), highest };
  }
}

const idsOf = (messages: readonly DetectionMessage[]): ReadonlySet<number> =>
  new Set(messages.flatMap(({ active_tracks }) => active_tracks.map(({ track_id }) => track_id)));

/** Processor time of a thread in ticks; 0 when it has ended. */
function ticksOf(task: string): number {
  const fields = readOr(`${task}/stat`)
    .replace(/^.*\) /, "")
    .split(" ");
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function readOr(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** The worker of Node that computes the most: other threads of that name collect garbage. */
async function findInference(pid: number): Promise<number> {
  const list = (): Map<number, number> =>
    new Map(
      readdirSync(`/proc/${pid}/task`)
        .filter((tid) => Number(tid) !== pid && /^node/.test(readOr(`/proc/${pid}/task/${tid}/comm`)))
        .map((tid) => [Number(tid), ticksOf(`/proc/${pid}/task/${tid}`)]),
    );
  const earlier = list();
  return poll(`inference in ${pid}`, () => {
    const grown = [...list()].map(([tid, ticks]) => [tid, ticks - (earlier.get(tid) ?? ticks)] as const);
    const [most] = grown.sort(([, a], [, b]) => b - a);
    return most !== undefined && most[1] >= 10 ? most[0] : null;
  });
}

const pssMb = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;

/** Makes `pid`, a runner, fail. Resolves when the fault is over. */
const cause: Readonly<Record<Fault, (pid: number) => Promise<void>>> = {
  async hang(pid) {
    await run(HOLD, [String(await findInference(pid)), String(FAULT_MS)]);
  },
  async starve(pid) {
    const tid = String(await findInference(pid));
    await run("chrt", ["--idle", "--pid", "0", tid]);
    const busy = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ["-e", "for (;;);"]));
    await sleep(FAULT_MS);
    await Promise.all(busy.map(end));
    await run("chrt", ["--other", "--pid", "0", tid]).catch(() => {}); // its runner may have ended
  },
  async kill(pid) {
    process.kill(pid, "SIGKILL");
  },
};

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

let service: TestService;
const streams: Stream[] = [];
const noHold = process.getuid?.() !== 0 && "only root can stop threads of runners";

before(async () => {
  if (clip === null || noHold) return;
  await run("g++", ["-O1", "-o", HOLD, fileURLToPath(new URL("hold-thread.cc", import.meta.url))]);
  const env = {
    ...{ WINDHOVER_RUNNERS_RESTARTS: "1000", WINDHOVER_RUNNERS_RESTART_MOST_SECONDS: "1" },
    ...{ WINDHOVER_RUNNERS_SPARE: "1", WINDHOVER_LIMITS_PROCESSES: String(STREAMS) },
  };
  service = await TestService.start({ env });
  const { uuid } = await uploadVideo(service, clip, { loop: true });
  for (let count = 0; count < STREAMS; count++) streams.push(await Stream.start(service, uuid));
});
after(() => service?.close());

async function expectRunning(): Promise<void> {
  const { processes } = await service.expect<{ processes: readonly ProcessRecord[] }>(200, "GET", "/processes");
  const states = new Map(processes.map(({ process_uuid, state, error }) => [process_uuid, error?.detail ?? state]));
  assert.deepEqual(
    streams.map(({ uuid }) => states.get(uuid)),
    streams.map(() => "running"),
    service.serving.errors,
  );
}

test("inference that hangs, starves or is killed costs a moment of detections and nothing else", {
  timeout: rounds(600_000, 7_200_000),
  skip: (clip === null && MISSING_CLIP) || noHold,
}, async () => {
  const random = seededRandom();
  const gaps: Record<Fault, Gap[]> = { hang: [], starve: [], kill: [] };
  const memoryMb: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const fault = FAULTS[round % FAULTS.length] as Fault;
    await Promise.all(streams.map((stream) => stream.next(3)));
    const busy = await findBusy();
    memoryMb.push(sumOf(busy.map(pssMb)));
    for (const stream of streams) stream.forget();
    await sleep(random.next() * 500);
    await cause[fault](busy[Math.floor(random.next() * busy.length)] as number);
    await Promise.all(streams.map((stream) => stream.next(4)));
    await expectRunning();
    const gap = streams.map((stream) => stream.findGap()).reduce((one, other) => (other.ms > one.ms ? other : one));
    const how = `round ${round + 1} of ${ROUNDS}, seed ${random.seed}, ${fault}: ${gap.ms} ms without detections, ids ${[...gap.before]}, then ${[...gap.after]}`;
    process.stderr.write(`${how}\n`);
    gaps[fault].push(gap);
    if (fault === "kill")
      assert.deepEqual(
        [...gap.after].filter((id) => id <= gap.highest),
        [],
        how,
      );
    if (fault === "hang") assert.ok(gap.ms < FAULT_MS, `${how}: the worker was not replaced`);
  }
  for (const fault of FAULTS) process.stderr.write(`${fault}: ${describe(gaps[fault])}\n`);
  for (const fault of ["hang", "starve"] as const)
    assert.ok(shareKept(gaps[fault]) >= MIN_KEPT, `${fault}: only ${shareKept(gaps[fault])} of the ids continue`);
  process.stderr.write(`memory of ${STREAMS} runners: ${memoryMb.map((one) => one.toFixed(0)).join(" ")} MB\n`);
  const part = Math.ceil(memoryMb.length / 4);
  const growthMb = (sumOf(memoryMb.slice(-part)) - sumOf(memoryMb.slice(0, part))) / part;
  assert.ok(growthMb < MAX_GROWTH_MB, `memory grew by ${growthMb.toFixed(0)} MB`);
});

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Of the tracks before a fault, those that are there afterwards. */
function shareKept(gaps: readonly Gap[]): number {
  const before = sumOf(gaps.map((gap) => gap.before.size));
  return sumOf(gaps.map((gap) => [...gap.before].filter((id) => gap.after.has(id)).length)) / Math.max(1, before);
}

function describe(gaps: readonly Gap[]): string {
  const sorted = gaps.map(({ ms }) => ms).sort((a, b) => a - b);
  const share = (100 * shareKept(gaps)).toFixed(0);
  return `${gaps.length} times, ${sorted[sorted.length >> 1]} ms without detections (median), ${sorted.at(-1)} ms at most; ${share} % of the ids continue`;
}

/** Runners with a stream: those that compute the most in a second. */
async function findBusy(): Promise<readonly number[]> {
  const pids = findDescendants(service.serving.pid, /runner\.mjs/);
  const before = pids.map((pid) => ticksOf(`/proc/${pid}`));
  await sleep(1_000);
  const grown = pids.map((pid, index) => ({ pid, ticks: ticksOf(`/proc/${pid}`) - (before[index] ?? 0) }));
  return grown
    .sort((a, b) => b.ticks - a.ticks)
    .slice(0, STREAMS)
    .map(({ pid }) => pid);
}
