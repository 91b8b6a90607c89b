/**
 * Detection compared with its limits, as ratios measured in the same run: the graph `detect` with a loop that only infers,
 * a model slower than the video with the video, the pixel kernels with those of GStreamer and OpenCV, and the other work
 * per frame with one inference. `bench detect [ROUNDS] [CLIP]`, 720p at 25 fps; without CLIP one is rendered. OpenCV is
 * optional: libopencv-dev.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { UsageFault } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignColumns } from "../../cli/text.ts";
import { buildPeers, type Comparison, OPENCV_MISSING, type Peers } from "./detect/peers.ts";
import { makeClip, median, readRounds, runTypeScript, SIZES, spreadOf } from "./harness.ts";

const ROUNDS = 3;
/** Long enough that compiling JavaScript at the beginning does not count. */
const FAST = { model: "default", frames: 450, turns: 3 } as const;
const LIVE = { model: "aerial", frames: 300 } as const;
const FRAME_MS = 40;
/** Limit, relative to the time of GStreamer or OpenCV for the same work. */
const HALF = 0.5;

interface Fast {
  readonly fps: number;
  readonly loopDelayMs: number;
}

interface Live {
  readonly kept: number;
  readonly inFps: number;
  readonly outFps: number;
  /** From the first frame to the last. */
  readonly lost: number;
  readonly inferred: number;
  readonly same: number;
  readonly boxes: number;
  readonly longestMs: number;
  readonly loopDelayMs: number;
}

/** Milliseconds. */
interface PerFrame {
  readonly overlay: number;
  readonly tracker: number;
  readonly track: number;
}

interface Round {
  readonly bareFps: number;
  readonly fast: Fast;
  readonly live: Live;
  readonly perFrame: PerFrame;
  readonly comparisons: readonly Comparison[];
}

export default async function detect(args: readonly string[], terminal: Terminal): Promise<number> {
  const { rounds, clip = await makeClip(SIZES[0]) } = readWords(args);
  const peers = await buildPeers();
  if (!peers.hasOpencv) terminal.say(OPENCV_MISSING);
  const done: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const measured = await measure(clip, peers);
    done.push(measured);
    const { bareFps, fast, live } = measured;
    terminal.say(
      `round ${round} of ${rounds}: bare ${bareFps.toFixed(1)}, graph ${fast.fps.toFixed(1)} fps; ` +
        `live ${live.inFps.toFixed(1)} in, ${live.outFps.toFixed(1)} out, ${live.lost} lost, ${live.inferred} inferred, latency up to ${live.longestMs.toFixed(0)} ms`,
    );
  }
  const results = judge(compare(done));
  for (const line of formatResults(results)) terminal.print(line);
  return results.every(({ holds }) => holds) ? 0 : 1;
}

export function readWords(
  args: readonly string[],
  name = "detect",
): { readonly rounds: number; readonly clip?: string } {
  const [first = "", ...rest] = args;
  const isCount = /^\d+$/.test(first);
  const [clip, extra] = isCount || first === "" ? rest : args;
  if (extra !== undefined)
    throw new UsageFault(`unexpected argument "${extra}"; expected bench ${name} [ROUNDS] [CLIP]`);
  if (clip !== undefined && !existsSync(clip))
    throw new UsageFault(`there is no clip ${clip}; expected bench ${name} [ROUNDS] [CLIP]`);
  return { rounds: isCount ? readRounds([first]) : ROUNDS, ...(clip !== undefined && { clip: resolve(clip) }) };
}

async function measure(clip: string, peers: Peers): Promise<Round> {
  const { bareFps, fast } = await measureFast(clip);
  const live = await program<Live>("live", clip, String(LIVE.frames), LIVE.model);
  const perFrame = await program<PerFrame>("per-frame");
  return { bareFps, fast, live, perFrame, comparisons: await addMotion(await peers.compare()) };
}

/** Alternating, bare first and last, so that a temporarily slow machine affects both. */
async function measureFast(clip: string): Promise<Pick<Round, "bareFps" | "fast">> {
  const frames = String(FAST.frames);
  const bare: number[] = [];
  const graph: Fast[] = [];
  for (let turn = 0; ; turn++) {
    bare.push((await program<{ fps: number }>("bare", frames, FAST.model)).fps);
    if (turn === FAST.turns) break;
    graph.push(await program<Fast>("fast", clip, frames, FAST.model));
  }
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    bareFps: mean(bare),
    fast: { fps: mean(graph.map(({ fps }) => fps)), loopDelayMs: mean(graph.map((run) => run.loopDelayMs)) },
  };
}

/** Our kernel is called from TypeScript, so it is timed in its own process right after the others. */
async function addMotion(comparisons: readonly Comparison[]): Promise<readonly Comparison[]> {
  const added: Comparison[] = [];
  for (const comparison of comparisons) {
    const size = SIZES.find(({ name }) => comparison.name === `camera motion, ${name}`);
    if (size === undefined) {
      added.push(comparison);
      continue;
    }
    const { ms, found } = await program<{ ms: number; found: number }>("motion", `${size.width}`, `${size.height}`);
    // Without a detected motion the time is meaningless.
    added.push({ ...comparison, ms: { ours: found > 0.9 ? ms : Number.NaN, ...comparison.ms } });
  }
  return added;
}

const program = <T>(name: string, ...args: readonly string[]): Promise<T> =>
  runTypeScript<T>(new URL(`detect/${name}.ts`, import.meta.url), ...args);

const atLeast = (least: number): Limit => ({ least });
const atMost = (most: number): Limit => ({ most });

function compare(rounds: readonly Round[]): readonly Measured[] {
  const over = (read: (round: Round) => number): number[] => rounds.map(read);
  const inferences = (read: (perFrame: PerFrame) => number): number[] =>
    over(({ perFrame, bareFps }) => (read(perFrame) * bareFps) / 1000);
  const bareFps = median(over((round) => round.bareFps));
  return [
    {
      name: `graph detect ÷ bare onnxruntime (${bareFps.toFixed(1)} inferences/s)`,
      values: over(({ fast, bareFps }) => fast.fps / bareFps),
      limit: atLeast(0.95),
    },
    {
      name: "live with a slow model: frames out ÷ frames in",
      values: over(({ live }) => live.kept),
      limit: atLeast(0.95),
    },
    {
      name: "live: boxes on their own frames, share",
      values: over(({ live }) => shareOfSame(live)),
      limit: atLeast(1),
    },
    {
      name: "main loop delay p99 at pace fast ÷ frame interval",
      values: over(({ fast }) => fast.loopDelayMs / FRAME_MS),
      limit: atMost(0.25),
    },
    {
      name: "main loop delay p99 live ÷ frame interval",
      values: over(({ live }) => live.loopDelayMs / FRAME_MS),
      limit: atMost(0.25),
    },
    ...comparePeers(rounds.map(({ comparisons }) => comparisons)),
    {
      name: "overlay element, 1080p, 20 objects with trails ÷ one inference",
      values: inferences(({ overlay }) => overlay),
      limit: atMost(0.1),
    },
    {
      name: "tracker, 100 objects ÷ one inference",
      values: inferences(({ tracker }) => tracker),
      limit: atMost(0.05),
    },
    {
      name: "track element with camera motion, 720p, 100 objects ÷ one inference",
      values: inferences(({ track }) => track),
      limit: atMost(0.15),
    },
  ];
}

/** A row per peer of each kernel, with our own time. */
export function comparePeers(rounds: readonly (readonly Comparison[])[]): readonly Measured[] {
  return (rounds[0] ?? []).flatMap(({ name, ms }, place) => {
    const times = (contestant: string) => rounds.map((round) => round[place]?.ms[contestant] ?? Number.NaN);
    const ours = times("ours");
    const peers = Object.keys(ms).filter((contestant) => contestant !== "ours");
    return peers.map((peer) => ({
      name: `${name} (${median(ours).toFixed(2)} ms) ÷ ${peer}`,
      values: times(peer).map((theirs, round) => (ours[round] ?? Number.NaN) / theirs),
      limit: atMost(HALF),
    }));
  });
}

/** 0 without inferences or boxes. */
const shareOfSame = ({ inferred, same, boxes }: Live): number => (inferred === 0 || boxes === 0 ? 0 : same / inferred);

export type Limit = { readonly least: number } | { readonly most: number };

export interface Measured {
  readonly name: string;
  /** One per round. */
  readonly values: readonly number[];
  readonly limit: Limit;
}

export interface Result extends Measured {
  readonly value: number;
  readonly holds: boolean;
}

/** NaN exceeds every limit. */
export const judge = (measured: readonly Measured[]): readonly Result[] =>
  measured.map((one) => {
    const value = median(one.values);
    return { ...one, value, holds: "least" in one.limit ? value >= one.limit.least : value <= one.limit.most };
  });

export function formatResults(results: readonly Result[]): readonly string[] {
  const rows = results.map(({ name, value, values, limit, holds }) => [
    name,
    value.toFixed(3),
    "least" in limit ? `≥ ${limit.least}` : `≤ ${limit.most}`,
    holds ? "ok" : "MISSED",
    values.length > 1 ? spreadOf(values, 3) : "",
  ]);
  return alignColumns([["measurement", "median", "limit", "", "range"], ...rows]);
}
