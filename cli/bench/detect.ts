/**
 * Detection against its limits: the graph `detect` against a loop that does nothing but infer, a model slower than the
 * video against the video, and what is done to every frame besides. `bench detect [ROUNDS] [CLIP]`, 720p at 25 frames
 * a second; without CLIP one is rendered.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageFault } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { formatResults, judge, type Limit, type Measured } from "./detect/results.ts";
import { makeClip, median, readRounds, run, SIZES } from "./engine.ts";

const ROUNDS = 3;
const FAST = { model: "default", frames: 200 } as const;
const LIVE = { model: "aerial", frames: 300 } as const;

interface Fast {
  readonly frames: number;
  readonly fps: number;
  readonly loopDelayMs: number;
}

interface Live {
  readonly kept: number;
  readonly inFps: number;
  readonly outFps: number;
  /** From the first frame to the last. */
  readonly lost: number;
  readonly looked: number;
  readonly same: number;
  readonly boxes: number;
  readonly longestMs: number;
  readonly loopDelayMs: number;
}

interface Kernels {
  readonly tensors: Readonly<Record<string, number>>;
  readonly drawing: Readonly<Record<string, number>>;
  readonly tracker: number;
  readonly track: number;
}

interface Round {
  readonly bareFps: number;
  readonly fast: Fast;
  readonly live: Live;
  readonly kernels: Kernels;
}

export default async function detect(args: readonly string[], terminal: Terminal): Promise<number> {
  const { rounds, clip = await makeClip(SIZES[0]) } = readWords(args);
  const done: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const measured = await measure(clip);
    done.push(measured);
    const { bareFps, fast, live } = measured;
    terminal.say(
      `round ${round} of ${rounds}: bare ${bareFps.toFixed(1)}, graph ${fast.fps.toFixed(1)} frames/s; ` +
        `live ${live.inFps.toFixed(1)} in, ${live.outFps.toFixed(1)} out, ${live.lost} lost, ${live.looked} looked at, latency up to ${live.longestMs.toFixed(0)} ms`,
    );
  }
  const results = judge(compare(done));
  for (const line of formatResults(results)) terminal.print(line);
  return results.every(({ holds }) => holds) ? 0 : 1;
}

export function readWords(args: readonly string[]): { readonly rounds: number; readonly clip?: string } {
  const [first = "", ...rest] = args;
  const isCount = /^\d+$/.test(first);
  const [clip, extra] = isCount || first === "" ? rest : args;
  if (extra !== undefined) throw new UsageFault(`"${extra}" is too much; expected bench detect [ROUNDS] [CLIP]`);
  if (clip !== undefined && !existsSync(clip))
    throw new UsageFault(`there is no clip ${clip}; expected bench detect [ROUNDS] [CLIP]`);
  return { rounds: isCount ? readRounds([first]) : ROUNDS, ...(clip !== undefined && { clip: resolve(clip) }) };
}

async function measure(clip: string): Promise<Round> {
  const { fps: bareFps } = await program<{ fps: number }>("bare", String(FAST.frames), FAST.model);
  const fast = await program<Fast>("fast", clip, String(FAST.frames), FAST.model);
  const live = await program<Live>("live", clip, String(LIVE.frames), LIVE.model);
  return { bareFps, fast, live, kernels: await program<Kernels>("kernels") };
}

/** Each in a process of its own: nothing that one leaves behind helps or hinders the next. */
async function program<T>(name: string, ...args: readonly string[]): Promise<T> {
  const file = fileURLToPath(new URL(`detect/${name}.ts`, import.meta.url));
  return JSON.parse(await run(process.execPath, ["--import", "tsx", file, ...args])) as T;
}

const atLeast = (least: number): Limit => ({ least });
const atMost = (most: number): Limit => ({ most });

function compare(rounds: readonly Round[]): readonly Measured[] {
  const over = (read: (round: Round) => number): number[] => rounds.map(read);
  const kernels = <K extends "tensors" | "drawing">(kind: K, title: string, most: number): Measured[] =>
    Object.keys(rounds[0]?.kernels[kind] ?? {}).map((name) => ({
      name: `${title}, 1080p ${name}, ms`,
      values: over((round) => round.kernels[kind][name] ?? Number.NaN),
      limit: atMost(most),
    }));
  return [
    {
      name: `graph detect ÷ bare onnxruntime (${median(over(({ bareFps }) => bareFps)).toFixed(1)} frames/s)`,
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
    { name: "main loop delay p99 at pace fast, ms", values: over(({ fast }) => fast.loopDelayMs), limit: atMost(10) },
    { name: "main loop delay p99 live, ms", values: over(({ live }) => live.loopDelayMs), limit: atMost(10) },
    ...kernels("tensors", "letterbox", 1.2),
    ...kernels("drawing", "overlay of 20 boxes", 1),
    { name: "tracker, 100 objects, ms", values: over((round) => round.kernels.tracker), limit: atMost(1) },
    {
      // A tenth of the time between two frames at 25 a second: what is left belongs to the network.
      name: "track with the camera's motion, 720p, 100 objects, ms",
      values: over((round) => round.kernels.track),
      limit: atMost(4),
    },
  ];
}

/** Nothing looked at, or nothing seen, shows nothing. */
const shareOfSame = ({ looked, same, boxes }: Live): number => (looked === 0 || boxes === 0 ? 0 : same / looked);
