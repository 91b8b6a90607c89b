/** Decodes a stream with ffmpeg, which waits for nothing, and tells how old its pictures are when they are there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { CommandFailure } from "../../../cli/command.ts";
import { ageMs, readTimeCode } from "./time-code.ts";

const LIMIT_MS = 60_000;

/** Ages in milliseconds of so many pictures that could be read, after as many that were not looked at. */
export async function playFrames(url: string, width: number, height: number, count: number): Promise<number[]> {
  const decoder = spawn(
    "ffmpeg",
    [
      ...["-v", "error", "-nostdin", "-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32768"],
      ...["-analyzeduration", "0", "-rtsp_transport", "tcp", "-i", url, "-fps_mode", "passthrough"],
      ...["-vf", `scale=${width}:${height}`, "-pix_fmt", "gray", "-f", "rawvideo", "-"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const closed = once(decoder, "close");
  let said = "";
  decoder.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-500);
  });
  const timer = setTimeout(() => decoder.kill("SIGKILL"), LIMIT_MS);
  const ages: number[] = [];
  let pending: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of decoder.stdout as AsyncIterable<Buffer>) {
      pending = Buffer.concat([pending, chunk]);
      for (; pending.length >= width * height; pending = pending.subarray(width * height)) {
        const code = readTimeCode({ data: pending.subarray(0, width * height), width, height, step: 1 });
        if (code !== null) ages.push(ageMs(Date.now(), code));
      }
      if (ages.length >= count * 2) return ages.slice(count);
    }
  } finally {
    clearTimeout(timer);
    decoder.kill("SIGKILL");
    await closed;
  }
  throw new CommandFailure(`${ages.length} pictures could be read of ${url.replace(/\?.*/, "")}: ${said}`);
}
