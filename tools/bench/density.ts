/**
 * How many live streams this machine carries: 720p at 25 fps with 5 inferences/s each, while 95 % of the frames take less
 * than 400 ms and none is lost. Compared with the bound, which decoding and inference alone leave, and with plain scripts
 * of GStreamer and onnxruntime. Processor time per stream is compared as well: it is the same on a busy machine.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { type Bound, makeCameraClip, measureBound } from "./density/bound.ts";
import { tryPlain } from "./density/plain-streams.ts";
import { Streams, type Trial } from "./density/streams.ts";
import { readWords } from "./detect.ts";
import { makeClip, median, SIZES, spreadOf, withFolder } from "./harness.ts";

const MODEL = "default";
const FPS = 25;
const EVERY = 5;
const TRIAL_S = 20;
/** Limits of a trial. Rates are read once a second, and vary by a frame. */
const MOST_P95_MS = 400;
const LEAST_SHARE = 0.97;
/** Share of the cores that other programs may use while streams are counted. */
const MOST_OTHERS = 0.25;
/** On a busier machine only their cost is measured, with this many. */
const FEW = 2;
/** Of one search: it then ends with the most streams that were carried so far. */
const SEARCH_MS = 300_000;
/** Goals. */
const LEAST_OF_BOUND = 0.9;
const MOST_FURTHER_MB = 120;

export default function density(args: readonly string[], terminal: Terminal): Promise<number> {
  const { rounds, clip: given } = readWords(args, "density");
  return withFolder(async (folder) => {
    const source = given ?? (await makeClip(SIZES[0]));
    const clip = await makeCameraClip(source, join(folder, "clip.mp4"));
    const bounds: Bound[] = [];
    const measureAgain = async () => bounds.push(await measureBound(clip.file, clip.frames, MODEL));
    for (let round = 0; round < rounds; round++) await measureAgain();
    const most = Math.max(1, Math.floor(streamsOf(bounds)));
    terminal.say(`the bound is ${streamsOf(bounds).toFixed(1)} streams`);
    const say = (name: string, trial: Trial): Trial => {
      terminal.say(`${name}: ${describe(trial)}`);
      return trial;
    };
    const streams = await Streams.open(folder, clip.file, EVERY);
    let first: Trial;
    let ours: Trial;
    let isIdle = true;
    const search = async (name: string, run: (count: number) => Promise<Trial>): Promise<Trial> => {
      const runAndShow = async (count: number) => say(name, await run(count));
      const untilMs = performance.now() + SEARCH_MS;
      return isIdle ? findMost(most, runAndShow, () => performance.now() > untilMs) : runAndShow(FEW);
    };
    try {
      first = say("one stream", await streams.try(1, TRIAL_S));
      isIdle = isMachineIdle(first);
      if (!isIdle) terminal.say(`other programs use ${first.others.toFixed(1)} cores: streams are not counted`);
      ours = await search("service", (count) => streams.try(count, TRIAL_S));
    } finally {
      await streams.close();
    }
    await measureAgain();
    const plain = await search("script", (count) => tryPlain(clip.file, MODEL, EVERY, count, TRIAL_S));
    await measureAgain();
    return print({ bounds, first, ours, plain, isIdle }, terminal);
  });
}

/** Many streams on a busy machine would measure nothing, and slow the others down. */
export const isMachineIdle = ({ others }: Trial, cores = availableParallelism()): boolean =>
  others <= MOST_OTHERS * cores;

/** Processor cores of one stream, by decoding and inference alone. */
const coresOf = (bounds: readonly Bound[]): number =>
  median(bounds.map(({ inferenceMs, decodeMs }) => (inferenceMs * (FPS / EVERY) + decodeMs * FPS) / 1000));

const streamsOf = (bounds: readonly Bound[]): number => availableParallelism() / coresOf(bounds);

export const holds = ({ p95Ms, fps, inferences, dropped }: Trial): boolean =>
  p95Ms < MOST_P95_MS && fps >= LEAST_SHARE * FPS && inferences >= (LEAST_SHARE * FPS) / EVERY && dropped === 0;

/**
 * The trial with the most streams that holds, or else that of one stream: at first with `most`, which no machine exceeds.
 * After that as many as were processed at the last attempt, or half-way between those that were carried and too many.
 */
export async function findMost(
  most: number,
  run: (streams: number) => Promise<Trial>,
  isOver: () => boolean = () => false,
): Promise<Trial> {
  let best: Trial | null = null;
  let tooMany = most + 1;
  let isEstimate = false;
  for (let next = most; ; ) {
    const trial = await run(next);
    if (holds(trial)) best = trial;
    else if (trial.streams === 1) return trial;
    else tooMany = trial.streams;
    const carried = best?.streams ?? 0;
    if (carried + 1 >= tooMany || (best !== null && isOver())) return best ?? trial;
    const share = Math.min(trial.fps / FPS, (trial.inferences * EVERY) / FPS);
    const processed = Math.floor(trial.streams * share);
    const wasRight = isEstimate && trial === best;
    isEstimate = trial !== best && processed > carried && processed < tooMany;
    if (isEstimate) next = processed;
    else next = wasRight ? carried + 1 : (carried + tooMany) >> 1;
  }
}

const describe = (trial: Trial): string =>
  `${trial.streams} streams, p95 ${trial.p95Ms.toFixed(0)} ms, ${trial.fps.toFixed(1)} fps, ${trial.inferences.toFixed(1)} inferences/s, ` +
  `${trial.dropped} frames dropped, ${trial.cores.toFixed(3)} cores each, other programs ${trial.others.toFixed(2)} cores: ${holds(trial) ? "carried" : "too many"}`;

interface Results {
  readonly bounds: readonly Bound[];
  readonly first: Trial;
  readonly ours: Trial;
  readonly plain: Trial;
  /** The streams were counted. */
  readonly isIdle: boolean;
}

async function print({ bounds, first, ours, plain, isIdle }: Results, terminal: Terminal): Promise<number> {
  const bound = coresOf(bounds);
  const further = (sumOf(ours.memoryMb) - sumOf(first.memoryMb)) / Math.max(1, ours.streams - first.streams);
  const row = (name: string, { streams, cores, p95Ms, memoryMb }: Trial, furtherMb: string): string[] => [
    ...(isIdle ? [name, String(streams), (streams / streamsOf(bounds)).toFixed(2)] : [name, "", ""]),
    ...[cores.toFixed(3), (bound / cores).toFixed(2), p95Ms.toFixed(0)],
    ...[(memoryMb[0] ?? Number.NaN).toFixed(0), furtherMb],
  ];
  const heads = ["", "streams", "of bound", "cores/stream", "of bound", "p95 ms", "first MB", "further MB"];
  const rows = [
    ["bound", streamsOf(bounds).toFixed(1), "1.00", bound.toFixed(3), "1.00", "", "", ""],
    row("service", ours, ours.streams > 1 ? further.toFixed(0) : ""),
    row("plain script", plain, median(plain.memoryMb).toFixed(0)),
  ];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column < 1));
  const inferenceMs = bounds.map((each) => each.inferenceMs);
  const decodeMs = bounds.map((each) => each.decodeMs);
  await terminal.print(
    `one inference ${median(inferenceMs).toFixed(1)} ms (${spreadOf(inferenceMs, 1)}), decoding a frame ${median(decodeMs).toFixed(2)} ms (${spreadOf(decodeMs, 2)}), ${availableParallelism()} cores`,
  );
  const isWithin = bound / ours.cores >= LEAST_OF_BOUND && further <= MOST_FURTHER_MB;
  terminal.say(`${isWithin ? "ok" : "MISSED"} (of bound ≥ ${LEAST_OF_BOUND}, further runner ≤ ${MOST_FURTHER_MB} MB)`);
  return isWithin ? 0 : 1;
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
