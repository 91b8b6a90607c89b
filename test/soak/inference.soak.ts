/**
 * Stops, starves and kills what runs inference, under several processes on one live stream: no process is lost, objects
 * keep their ids, ids are never used twice, and memory stays flat. All processes see the same pictures: which object an id
 * belongs to is known from the places of objects in the processes without a fault, and how many ids can continue from a
 * comparison of these with each other. Times are in usual intervals between messages of the same run.
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
import { overlap } from "../../elements/track/overlap.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { spawnPublisher } from "../../server/media/publisher.fixture.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { addressesOf, registerStream } from "../cluster/streams.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { keepFile } from "../kept-files.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { rounds, seededRandom } from "./rounds.fixture.ts";

const run = promisify(execFile);
const STREAMS = rounds(3, 8);
const ROUNDS = rounds(3, 50);
/** Two inferences a second on 10 fps: eight streams fit on two cores. */
const EVERY = 5;
/** Before a fault, to know the usual interval; after it, to see what continues. */
const MESSAGES = 4;
/** The hang ends when the stream has detections again: this only limits it. */
const HANG_MS = 120_000;
const STARVE_INTERVALS = 8;
/** Without detections, for half of the faults of a kind and for all. */
const [USUAL_INTERVALS, MOST_INTERVALS] = [15, 60];
/** Without detections for longer, objects get new ids: four times `max-age-ms` of `track`. */
const BLIND_MS = 8_000;
/** Of the ids that processes without a fault keep over the same pictures. */
const MIN_KEPT = 0.7;
/** Of each runner, between the second and the last quarter of the rounds: in the first they still grow. */
const MAX_GROWTH_MB = 8;
/** Intersection over union of the boxes of one object in two streams, which may infer different frames. */
const SAME_OVERLAP = 0.3;
const FAULTS = ["hang", "starve", "kill"] as const;
type Fault = (typeof FAULTS)[number];

const clip = testClip("vtest.avi");
const folder = temporaryFolder();
const HOLD = join(folder, "hold-thread");

/** Objects that two streams have before and after a time without detections, by their places in the picture. */
interface Kept {
  /** Of objects that keep their id in the one stream. */
  readonly before: number;
  /** Of these, objects that keep their id in the other stream as well. */
  readonly kept: number;
  /** Ids that are at another object afterwards. */
  readonly moved: number;
}

/** The longest time between two messages of a stream. */
interface Gap {
  readonly fromMs: number;
  readonly ms: number;
  /** Between the messages before the fault. */
  readonly usualMs: number;
  /** Used again for other objects, or out of order. */
  readonly wrong: readonly number[];
}

const timeOf = ({ timestamp }: DetectionMessage): number => Date.parse(timestamp);
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
const idsOf = (messages: readonly DetectionMessage[]): ReadonlySet<number> =>
  new Set(messages.flatMap(({ active_tracks }) => active_tracks.map(({ track_id }) => track_id)));

/** The messages of one process. */
class Stream {
  readonly uuid: string;
  readonly #detections: Detections;
  /** Of all messages before those that are remembered. */
  readonly #seen = new Set<number>();

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

  /** Forgets all messages but the last ones. */
  forget(): void {
    const { messages } = this.#detections;
    for (const id of idsOf(messages)) this.#seen.add(id);
    messages.splice(0, messages.length - MESSAGES);
  }

  async next(count: number): Promise<void> {
    await this.#detections.next(count);
  }

  /** Of the messages since `forget`; the first ones are from before the fault. */
  findGap(): Gap {
    const { messages } = this.#detections;
    const times = messages.map(timeOf);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
    const usualMs = median(gaps.slice(0, MESSAGES - 1));
    const later = gaps.slice(MESSAGES - 1);
    const ms = Math.max(0, ...later);
    const at = MESSAGES + later.indexOf(ms);
    const fromMs = times[at - 1] ?? 0;
    const highest = Math.max(0, ...this.#seen, ...idsOf(messages.slice(0, at)));
    const known = new Set([...this.#seen, ...idsOf(messages.slice(0, at))]);
    const wrong = [...idsOf(messages.slice(at))].filter((id) => !known.has(id) && id <= highest);
    return { fromMs, ms, usualMs, wrong };
  }

  /** The message nearest to a time. */
  at(ms: number): DetectionMessage | undefined {
    const distance = (one: DetectionMessage): number => Math.abs(timeOf(one) - ms);
    return this.#detections.messages.toSorted((a, b) => distance(a) - distance(b))[0];
  }
}

/** Of objects at both times in `guide`, those that have one id in `stream` at both times. */
function compareIds(stream: Stream, guide: Stream, { fromMs, ms }: Gap): Kept {
  const [before, later] = [fromMs, fromMs + ms].map((at) => {
    const own = stream.at(at);
    return pairIds(guide.at(own === undefined ? at : timeOf(own)), own);
  });
  let [all, kept, moved] = [0, 0, 0];
  for (const [guideId, id] of before ?? []) {
    const laterId = later?.get(guideId);
    if (laterId === undefined) continue;
    all += 1;
    if (laterId === id) kept += 1;
    else if ([...(later?.values() ?? [])].includes(id)) moved += 1;
  }
  return { before: all, kept, moved };
}

/** Ids of the same objects in two messages: those whose boxes overlap most. */
function pairIds(guide: DetectionMessage | undefined, other: DetectionMessage | undefined): Map<number, number> {
  const pairs = (guide?.active_tracks ?? []).flatMap((one) =>
    (other?.active_tracks ?? []).map((two) => ({
      ids: [one.track_id, two.track_id] as const,
      overlap: overlap(one.scaled_bbox, two.scaled_bbox),
    })),
  );
  const [ids, used] = [new Map<number, number>(), new Set<number>()];
  for (const {
    ids: [one, two],
  } of pairs.filter((pair) => pair.overlap > SAME_OVERLAP).sort((a, b) => b.overlap - a.overlap)) {
    if (ids.has(one) || used.has(two)) continue;
    ids.set(one, two);
    used.add(two);
  }
  return ids;
}

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

/** Threads of a runner, by name. */
const listThreads = (pid: number): readonly (readonly [tid: number, name: string])[] =>
  listOr(`/proc/${pid}/task`).map((tid) => [Number(tid), readOr(`/proc/${pid}/task/${tid}/comm`).trim()]);

const listRunners = (): readonly number[] => findDescendants(service.serving.pid, /runner\.mjs/);

/** Of every runner with a pipeline, the threads of Node besides the first: ticks since their start. */
function listWorkers(): Map<number, Map<number, number>> {
  const list = (pid: number): Map<number, number> => {
    const threads = listThreads(pid);
    const isStreaming = threads.some(([, name]) => /^(decode|queue|stage|source|pull|video)/.test(name));
    const workers = threads.filter(([tid, name]) => isStreaming && tid !== pid && /^node/.test(name));
    return new Map(workers.map(([tid]) => [tid, ticksOf(`/proc/${pid}/task/${tid}`)]));
  };
  return new Map(listRunners().map((pid) => [pid, list(pid)]));
}

/** An inference or so: the other threads of Node in a runner compute less meanwhile. */
const LEAST_TICKS = 8;

/** Runners with a stream. */
function findInferring(): Promise<readonly Inferring[]> {
  const earlier = listWorkers();
  return poll("inference in all streams", () => {
    const busiest = [...listWorkers()].flatMap(([pid, threads]) => {
      const grown = [...threads].map(([tid, ticks]) => ({
        pid,
        tid,
        ticks: ticks - (earlier.get(pid)?.get(tid) ?? ticks),
      }));
      return grown.sort((a, b) => b.ticks - a.ticks).slice(0, 1);
    });
    const inferring = busiest.filter(({ ticks }) => ticks >= LEAST_TICKS);
    return inferring.length >= STREAMS ? inferring : null;
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

/** Makes inference in a runner fail, until `recovered`. Resolves when the fault is over. */
const cause: Readonly<
  Record<Fault, (one: Inferring, usualMs: number, recovered: () => Promise<void>) => Promise<void>>
> = {
  async hang({ tid }, _usualMs, recovered) {
    const holding = spawn(HOLD, [String(tid), String(HANG_MS)], { stdio: ["ignore", "pipe", "inherit"] });
    await once(holding.stdout, "data");
    await recovered();
    assert.equal(holding.exitCode, null, "the stream recovered only when the thread did");
    await end(holding);
  },
  async starve({ tid }, usualMs, recovered) {
    await run("chrt", ["--idle", "--pid", "0", String(tid)]);
    const busy = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ["-e", "for (;;);"]));
    await sleep(STARVE_INTERVALS * usualMs);
    await Promise.all(busy.map(end));
    await run("chrt", ["--other", "--pid", "0", String(tid)]).catch(() => {}); // its runner may have ended
    await recovered();
  },
  async kill({ pid }, _usualMs, recovered) {
    process.kill(pid, "SIGKILL");
    await recovered();
  },
};

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

let service: TestService;
let publisher: ChildProcess | undefined;
const streams: Stream[] = [];
const noHold = process.getuid?.() !== 0 && "only root can stop threads of runners";

before(async () => {
  if (clip === null || noHold) return;
  await run("g++", ["-O1", "-o", HOLD, fileURLToPath(new URL("hold_thread.cc", import.meta.url))]);
  const arguments_ = ["-an", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "20", "-pix_fmt", "yuv420p"];
  const video = await keepFile(["vtest", ...arguments_, "mp4"], async (path) => {
    await run("ffmpeg", ["-v", "error", "-y", "-i", clip, ...arguments_, "-f", "mp4", path]);
  });
  const env = {
    ...{ WINDHOVER_RUNNERS_RESTARTS: "1000", WINDHOVER_RUNNERS_RESTART_MOST_SECONDS: "1" },
    ...{ WINDHOVER_RUNNERS_SPARE: "1", WINDHOVER_LIMITS_PROCESSES: String(STREAMS) },
  };
  service = await TestService.start({ env });
  const { rtmp } = await addressesOf(service);
  const url = `${rtmp}/master/street`;
  const { uuid } = await registerStream(service, "street", url);
  publisher = spawnPublisher(`${url}?api_key=${MASTER_KEY}`, 86_400, video);
  await poll("the source is streaming", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${uuid}`);
    return status === "streaming";
  });
  for (let count = 0; count < STREAMS; count++) streams.push(await Stream.start(service, uuid));
});
after(async () => {
  publisher?.kill("SIGKILL");
  await service?.close();
});

async function expectRunning(): Promise<void> {
  const { processes } = await service.expect<{ processes: readonly ProcessRecord[] }>(200, "GET", "/processes");
  const states = new Map(processes.map(({ process_uuid, state, error }) => [process_uuid, error?.detail ?? state]));
  assert.deepEqual(
    streams.map(({ uuid }) => states.get(uuid)),
    streams.map(() => "running"),
    service.serving.errors,
  );
}

/** One fault: the gap of the stream that it was in, and the ids over this gap. */
interface Round {
  readonly gap: Gap;
  /** Of the stream with the fault, compared with all others. */
  readonly own: Kept;
  /** Of each other stream, compared with the next one. */
  readonly others: Kept;
}

/** The stream with the fault is the one with the longest time without detections, in its usual intervals. */
function examine(): Round {
  const gaps = streams.map((stream) => ({ stream, gap: stream.findGap() }));
  const [worst, ...rest] = gaps.toSorted((a, b) => b.gap.ms / b.gap.usualMs - a.gap.ms / a.gap.usualMs);
  assert.ok(worst !== undefined);
  const { stream, gap } = worst;
  const others = rest.map((one) => one.stream);
  return {
    gap,
    own: addKept(others.map((guide) => compareIds(stream, guide, gap))),
    others: addKept(others.slice(1).map((one, at) => compareIds(one, others[at] as Stream, gap))),
  };
}

const addKept = (list: readonly Kept[]): Kept => ({
  before: sumOf(list.map(({ before }) => before)),
  kept: sumOf(list.map(({ kept }) => kept)),
  moved: sumOf(list.map(({ moved }) => moved)),
});
const shareOf = ({ before, kept }: Kept): number => kept / Math.max(1, before);

test("inference that hangs, starves or is killed costs a moment of detections and nothing else", {
  timeout: rounds(600_000, 7_200_000),
  skip: (clip === null && MISSING_CLIP) || noHold,
}, async () => {
  const random = seededRandom();
  const found: Record<Fault, Round[]> = { hang: [], starve: [], kill: [] };
  const memoryMb: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const fault = FAULTS[round % FAULTS.length] as Fault;
    await Promise.all(streams.map((stream) => stream.next(MESSAGES)));
    const inferring = await findInferring();
    const runners = listRunners();
    memoryMb.push(sumOf(runners.map(pssMb)) / runners.length);
    for (const stream of streams) stream.forget();
    const usualMs = median(streams.map((stream) => stream.findGap().usualMs));
    await sleep(random.next() * usualMs);
    const target = inferring[Math.floor(random.next() * inferring.length)] as Inferring;
    const recovered = async (): Promise<void> => {
      await Promise.all(streams.map((stream) => stream.next(MESSAGES + 1)));
    };
    await cause[fault](target, usualMs, recovered);
    await expectRunning();
    const examined = examine();
    const { gap, own, others } = examined;
    found[fault].push(examined);
    const how = `round ${round + 1} of ${ROUNDS}, seed ${random.seed}, ${fault}: ${gap.ms} ms without detections, usually ${gap.usualMs}; objects keep their ids in ${own.kept} of ${own.before} comparisons (${own.moved} ids at other objects), between others in ${others.kept} of ${others.before} (${others.moved})`;
    process.stderr.write(`${how}\n`);
    assert.deepEqual(gap.wrong, [], `${how}: ids are used again`);
  }
  process.stderr.write(`memory of a runner: ${memoryMb.map((one) => one.toFixed(0)).join(" ")} MB\n`);
  for (const fault of FAULTS) process.stderr.write(`${fault}: ${describe(found[fault])}\n`);
  for (const fault of FAULTS) expectShort(fault, found[fault]);
  const part = Math.ceil(memoryMb.length / 4);
  const growthMb = median(memoryMb.slice(-part)) - median(memoryMb.slice(part, 2 * part));
  assert.ok(growthMb < MAX_GROWTH_MB, `memory of a runner grew by ${growthMb.toFixed(0)} MB`);
});

function expectShort(fault: Fault, all: readonly Round[]): void {
  const intervals = all.map(({ gap }) => gap.ms / gap.usualMs);
  assert.ok(median(intervals) <= USUAL_INTERVALS, `${fault}: too long without detections`);
  assert.ok(Math.max(0, ...intervals) <= MOST_INTERVALS, `${fault}: once far too long without detections`);
  const { share, possible } = compareKept(all);
  assert.ok(
    share >= MIN_KEPT * possible,
    `${fault}: ${percent(share)} of the objects keep their ids, without a fault ${percent(possible)}`,
  );
}

/** Over the faults after which ids can continue: the share that did, and the share in streams without a fault. */
function compareKept(all: readonly Round[]): { readonly share: number; readonly possible: number } {
  const short = all.filter(({ gap }) => gap.ms < BLIND_MS);
  return {
    share: shareOf(addKept(short.map(({ own }) => own))),
    possible: shareOf(addKept(short.map(({ others }) => others))),
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

function describe(all: readonly Round[]): string {
  const sorted = all.map(({ gap }) => gap.ms).sort((a, b) => a - b);
  const usualMs = median(all.map(({ gap }) => gap.usualMs));
  const { share, possible } = compareKept(all);
  return `${all.length} times, ${median(sorted)} ms without detections (median), ${sorted.at(-1)} ms at most, usually ${usualMs} ms; ${percent(share)} of the objects keep their ids, without a fault ${percent(possible)}`;
}
