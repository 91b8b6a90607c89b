/** Writes a small video with motion at 10 fps. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export async function makeClip(file: string, frames: number): Promise<void> {
  const picture = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=10", "-frames:v", String(frames)];
  await promisify(execFile)("ffmpeg", ["-hide_banner", "-loglevel", "error", ...picture, "-c:v", "mpeg4", "-y", file]);
}
