/** Decoding through TypeScript elements, compared with gst-launch decoding alone: the same clip, alternating runs. */
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { CLIP_FRAMES, makeClip, median, readRounds, run, runTypeScript, SIZES, spreadOf } from "./harness.ts";

const LIMIT = 0.95;
const WAYS = [
  { name: "queue + 1 TypeScript element", elements: 1 },
  { name: "queue + 3 TypeScript elements", elements: 3 },
] as const;

export default async function engine(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  const rows: string[][] = [];
  let worst = Number.POSITIVE_INFINITY;
  for (const size of SIZES) {
    const clip = await makeClip(size);
    const base: number[] = [];
    const measured = WAYS.map((way) => ({ ...way, fps: [] as number[], ratios: [] as number[] }));
    for (let round = 1; round <= rounds; round++) {
      const baseFps = await launchFps(clip);
      base.push(baseFps);
      for (const { elements, fps, ratios } of measured) {
        fps.push(await graphFps(clip, elements));
        ratios.push((fps.at(-1) ?? 0) / baseFps);
      }
      terminal.say(`${size.name} round ${round} of ${rounds}: gst-launch ${baseFps.toFixed(0)} fps`);
    }
    rows.push([size.name, "gst-launch alone", median(base).toFixed(0), "1.000", "", ""]);
    for (const { name, fps, ratios } of measured) {
      const ratio = median(ratios);
      worst = Math.min(worst, ratio);
      const result = ratio >= LIMIT ? "ok" : "below";
      rows.push([size.name, name, median(fps).toFixed(0), ratio.toFixed(3), spreadOf(ratios, 3), result]);
    }
  }
  const heads = ["clip", "pipeline", "fps", "ratio", "range", `≥ ${LIMIT}`];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column < 2));
  return worst >= LIMIT ? 0 : 1;
}

/** By gst-launch's own clock: from the first frame at the sink to the end. */
async function launchFps(clip: string): Promise<number> {
  const rest = "! qtdemux ! h264parse ! avdec_h264 ! fakesink sync=false".split(" ");
  const stdout = await run("gst-launch-1.0", ["filesrc", `location=${clip}`, ...rest]);
  const [, hours, minutes, seconds] = /Execution ended after (\d+):(\d+):([\d.]+)/.exec(stdout) ?? [];
  return (CLIP_FRAMES - 1) / (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}

async function graphFps(clip: string, elements: number): Promise<number> {
  const program = new URL("engine/ours.ts", import.meta.url);
  const { frames, fps } = await runTypeScript<{ frames: number; fps: number }>(program, clip, String(elements));
  if (frames !== CLIP_FRAMES) throw new Error(`the pipeline lost frames: ${frames} of ${CLIP_FRAMES} arrived`);
  return fps;
}
