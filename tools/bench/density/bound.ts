/** What decoding and inference alone cost: no program can carry more streams than these leave room for. */
import { CommandFailure } from "../../../cli/command.ts";
import { run, runTypeScript } from "../harness.ts";
import { childrenCpuSeconds } from "./usage.ts";

const INFERENCES = 60;

export interface Bound {
  /** Processor time of one inference. */
  readonly inferenceMs: number;
  /** Processor time to decode one frame, in one thread. */
  readonly decodeMs: number;
}

export async function measureBound(clip: string, frames: number, model: string): Promise<Bound> {
  const { cpuMs: inferenceMs } = await runTypeScript<{ cpuMs: number }>(
    new URL("../detect/bare.ts", import.meta.url),
    String(INFERENCES),
    model,
  );
  return { inferenceMs, decodeMs: await measureDecoding(clip, frames) };
}

/** Without the start of the program, which a clip of no frames measures. */
async function measureDecoding(clip: string, frames: number): Promise<number> {
  const line = "! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! fakesink sync=false".split(" ");
  const time = async (args: readonly string[]): Promise<number> => {
    const before = childrenCpuSeconds();
    await run("gst-launch-1.0", ["-q", ...args]);
    return childrenCpuSeconds() - before;
  };
  const empty = await time(["videotestsrc", "num-buffers=1", "!", "fakesink"]);
  const whole = await time(["filesrc", `location=${clip}`, ...line]);
  return ((whole - empty) * 1000) / frames;
}

export interface Clip {
  readonly file: string;
  readonly frames: number;
}

/** The clip as a camera would send it: 1280 × 720, 25 fps, H.264 without B-frames. Written to `file`. */
export async function makeCameraClip(source: string, file: string): Promise<Clip> {
  const line =
    "decodebin ! videoconvert ! videoscale add-borders=true ! videorate ! video/x-raw,format=I420,width=1280,height=720,framerate=25/1" +
    " ! x264enc speed-preset=veryfast tune=zerolatency bitrate=3000 key-int-max=50 ! h264parse ! mp4mux ! filesink";
  await run("gst-launch-1.0", ["-q", "filesrc", `location=${source}`, "!", ...line.split(" "), `location=${file}`]);
  const counted = await run("gst-launch-1.0", [
    ...["filesrc", `location=${file}`, "!", "qtdemux", "!", "h264parse", "!", "fakesink", "silent=false", "-v"],
  ]);
  const frames = counted.match(/last-message = chain /g)?.length ?? 0;
  if (frames === 0) throw new CommandFailure(`${source} has no frames`);
  return { file, frames };
}
