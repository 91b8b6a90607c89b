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
/** Much longer than it takes to replace a worker, also on a busy machine. */
const HANG_MS = 15_000;
const STARVE_MS = 4_000;
/** Without detections for longer, people have moved on and tracks end. */
const SHORT_MS = 2_000;
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

interface Inferring {
  readonly pid: number;
  /** Of its inference thread. */
  readonly tid: number;
}

/** Of every runner, the thread of Node besides the first that has computed most: ticks since its start. */
function listWorkers(): Map<number, Map<number, number>> {
  const pids = findDescendants(service.serving.pid, /runner\.mjs/);
  const list = (pid: number) =>
    listOr(`/proc/${pid}/task`)
      .filter((tid) => Number(tid) !== pid && /^node/.test(readOr(`/proc/${pid}/task/${tid}/comm`)))
      .map((tid) => [Number(tid), ticksOf(`/proc/${pid}/task/${tid}`)] as const);
  return new Map(pids.map((pid) => [pid, new Map(list(pid))]));
}

/** Five inferences or so: more than a spare runner computes to load its model. */
const LEAST_TICKS = 40;

/** Runners with a stream. */
function findInferring(): Promise<readonly Inferring[]> {
  const earlier = listWorkers();
  return poll("inference in all streams", () => {
    const grown = [...listWorkers()].flatMap(([pid, threads]) =>
      [...threads].map(([tid, ticks]) => ({ pid, tid, ticks: ticks - (earlier.get(pid)?.get(tid) ?? ticks) })),
    );
    const busy = grown.filter(({ ticks }) => ticks >= LEAST_TICKS);
    return busy.length >= STREAMS ? busy.sort((a, b) => b.ticks - a.ticks).slice(0, STREAMS) : null;
  });
}

function listOr(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const pssMb = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;

/** Makes inference in a runner fail. Resolves when the fault is over. */
const cause: Readonly<Record<Fault, (inferring: Inferring) => Promise<void>>> = {
  async hang({ tid }) {
    await run(HOLD, [String(tid), String(HANG_MS)]);
  },
  async starve({ tid }) {
    await run("chrt", ["--idle", "--pid", "0", String(tid)]);
    const busy = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ["-e", "for (;;);"]));
    await sleep(STARVE_MS);
    await Promise.all(busy.map(end));
    await run("chrt", ["--other", "--pid", "0", String(tid)]).catch(() => {}); // its runner may have ended
  },
  async kill({ pid }) {
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
  await run("g++", ["-O1", "-o", HOLD, fileURLToPath(new URL("hold_thread.cc", import.meta.url))]);
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
    const inferring = await findInferring();
    memoryMb.push(sumOf(inferring.map(({ pid }) => pssMb(pid))));
    for (const stream of streams) stream.forget();
    await sleep(random.next() * 500);
    await cause[fault](inferring[Math.floor(random.next() * inferring.length)] as Inferring);
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
    if (fault === "hang") assert.ok(gap.ms < HANG_MS, `${how}: the worker was not replaced`);
  }
  for (const fault of FAULTS) process.stderr.write(`${fault}: ${describe(gaps[fault])}\n`);
  for (const fault of ["hang", "starve"] as const) {
    const short = gaps[fault].filter(({ ms }) => ms < SHORT_MS);
    const share = shareKept(short);
    assert.ok(short.length === 0 || share >= MIN_KEPT, `${fault}: only ${share} of the ids continue`);
  }
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
