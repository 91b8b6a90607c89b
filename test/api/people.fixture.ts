/** A clip of people with a smaller picture: to decode and encode the large one costs more than to detect people on it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { keepFile } from "../kept-files.fixture.ts";

/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 280_000;

/** The first seconds of it, at this frame rate. Do not change the file. */
export function reduceClip(clip: string, seconds: number, fps: number): Promise<string> {
  const args = ["-vf", `fps=${fps},scale=512:-2`, "-c:v", "libx264", "-preset", "ultrafast", "-crf", "18", "-an"];
  return keepFile([clip, String(seconds), ...args, "mp4"], async (path) => {
    await promisify(execFile)("ffmpeg", ["-v", "error", "-t", String(seconds), "-i", clip, ...args, path], {
      timeout: LIMIT_MS,
    });
  });
}
