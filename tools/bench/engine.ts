/** Decoding through TypeScript elements against gst-launch decoding alone: the same clip, turn by turn. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CommandFailure, UsageFault } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";

const OURS = fileURLToPath(new URL("engine/ours.ts", import.meta.url));
const CACHE = fileURLToPath(new URL("../../build/bench/", import.meta.url));
const LIMIT = 0.95;
const FRAMES = 600;
const ROUNDS = 5;
const MOST_ROUNDS = 1000;
/** For one decoding or encoding of the clip, on however slow a machine. */
const RUN_LIMIT_MS = 300_000;
export const SIZES = [
  { name: "720p", width: 1280, height: 720, kbps: 3000 },
  { name: "1080p", width: 1920, height: 1080, kbps: 6000 },
] as const;
const WAYS = [
  { name: "queue + 1 TypeScript element", elements: 1 },
  { name: "queue + 3 TypeScript elements", elements: 3 },
] as const;

export default async function engine(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  const rows: string[] = [];
  let worst = Number.POSITIVE_INFINITY;
  for (const size of SIZES) {
    const clip = await makeClip(size);
    const fps = new Map<string, number[]>();
    const ratios = new Map<string, number[]>();
    for (let round = 1; round <= rounds; round++) {
      const base = await launchFps(clip);
      push(fps, "gst-launch", base);
      for (const way of WAYS) {
        const ours = await ourFps(clip, way.elements);
        push(fps, way.name, ours);
        push(ratios, way.name, ours / base);
      }
      terminal.say(`${size.name} round ${round} of ${rounds}: gst-launch ${base.toFixed(0)} frames/s`);
    }
    rows.push(row(size.name, "gst-launch alone", median(fps.get("gst-launch")), "1.000", "", ""));
    for (const { name } of WAYS) {
      const list = ratios.get(name) ?? [];
      const ratio = median(list);
      worst = Math.min(worst, ratio);
      const spread = `${Math.min(...list).toFixed(3)} … ${Math.max(...list).toFixed(3)}`;
      rows.push(row(size.name, name, median(fps.get(name)), ratio.toFixed(3), spread, ratio >= LIMIT ? "ok" : "below"));
    }
  }
  terminal.print(row("clip", "pipeline", "frames/s", "ratio", "of the rounds", `≥ ${LIMIT}`));
  for (const line of rows) terminal.print(line);
  return worst >= LIMIT ? 0 : 1;
}

export function readRounds([text, extra]: readonly string[]): number {
  if (extra !== undefined) throw new UsageFault(`"${extra}" is too much; expected bench engine [ROUNDS]`);
  if (text === undefined) return ROUNDS;
  const rounds = /^\d+$/.test(text) ? Number(text) : 0;
  if (rounds >= 1 && rounds <= MOST_ROUNDS) return rounds;
  throw new UsageFault(`the number of rounds is "${text}"; expected a whole number from 1 to ${MOST_ROUNDS}`);
}

/** Resolves with what the program wrote to standard output. */
export async function run(program: string, args: readonly string[], limitMs = RUN_LIMIT_MS): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: limitMs, killSignal: "SIGKILL" });
    return stdout;
  } catch (cause) {
    const { killed, stderr, message } = cause as { killed?: boolean; stderr?: string; message: string };
    const reason = killed ? `did not end within ${limitMs / 1000} s` : `failed: ${stderr?.trim() || message}`;
    throw new CommandFailure(`${basename(program)} ${reason}`, { cause });
  }
}

const push = (into: Map<string, number[]>, key: string, value: number): void => {
  into.set(key, [...(into.get(key) ?? []), value]);
};

export function median(list: readonly number[] = []): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const row = (clip: string, way: string, fps: number | string, ratio: string, spread: string, verdict: string): string =>
  `${clip.padEnd(6)} ${way.padEnd(30)} ${(typeof fps === "number" ? fps.toFixed(0) : fps).padStart(9)} ${ratio.padStart(7)}  ${spread.padEnd(15)} ${verdict}`.trimEnd();

/** gst-launch's own clock: from the first frame at the sink to the end. */
async function launchFps(clip: string): Promise<number> {
  const rest = "! qtdemux ! h264parse ! avdec_h264 ! fakesink sync=false".split(" ");
  const stdout = await run("gst-launch-1.0", ["filesrc", `location=${clip}`, ...rest]);
  const [, hours, minutes, seconds] = /Execution ended after (\d+):(\d+):([\d.]+)/.exec(stdout) ?? [];
  return (FRAMES - 1) / (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}

async function ourFps(clip: string, elements: number): Promise<number> {
  const stdout = await run(process.execPath, ["--import", "tsx", OURS, clip, String(elements)]);
  const { frames, fps } = JSON.parse(stdout) as { frames: number; fps: number };
  if (frames !== FRAMES) throw new Error(`the pipeline lost frames: ${frames} of ${FRAMES} arrived`);
  return fps;
}

/** A moving picture with detail everywhere, at a camera's bit rate: decoding it costs what decoding a street costs. */
export async function makeClip({ name, width, height, kbps }: (typeof SIZES)[number]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const clip = `${CACHE}engine-${name}.mp4`;
  if (existsSync(clip)) return clip;
  const part = `${clip}.part`;
  const line =
    `videotestsrc pattern=zone-plate kx2=12 ky2=12 kt=2 num-buffers=${FRAMES} ! video/x-raw,format=I420,width=${width},height=${height},framerate=25/1` +
    ` ! x264enc speed-preset=veryfast bitrate=${kbps} key-int-max=50 ! h264parse ! mp4mux ! filesink`;
  // A path may have spaces in it: it is a word of its own.
  await run("gst-launch-1.0", [...line.split(" "), `location=${part}`]);
  renameSync(part, clip);
  return clip;
}
