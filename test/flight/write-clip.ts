/** A flight as a clip: H.264 by ffmpeg, or raw where no encoder is to have a say. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import type { Lens } from "./camera.ts";
import { Renderer } from "./render.ts";
import { type Flight, poseAt } from "./trajectory.ts";
import { frameCount } from "./truth.ts";

export interface Shot {
  readonly flight: Flight;
  readonly lens: Lens;
  readonly fps: number;
}

export const LENS: Lens = { width: 960, height: 540, hfov: 20 };
export const FPS = 15;

export async function writeMp4(file: string, { flight, lens, fps }: Shot, onFrame?: (count: number) => void) {
  const input = `-f rawvideo -pix_fmt yuv420p -s ${lens.width}x${lens.height} -r ${fps} -i -`;
  const coded = "-c:v libx264 -preset veryfast -crf 18 -g 15 -bf 0 -pix_fmt yuv420p -movflags +faststart";
  const words = `-hide_banner -loglevel error -y ${input} ${coded}`.split(" ");
  const coder = spawn("ffmpeg", [...words, file], { stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  coder.stderr.on("data", (data) => (said += data));
  const ended = once(coder, "close");
  let fault: Error | null = null;
  coder.stdin.on("error", (error) => (fault ??= error));
  for (const [index, frame] of eachFrame({ flight, lens, fps })) {
    if (fault !== null) break;
    // The renderer paints the next frame over this one.
    if (!coder.stdin.write(Buffer.from(frame))) await Promise.race([once(coder.stdin, "drain"), ended]);
    onFrame?.(index + 1);
  }
  coder.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`ffmpeg could not write ${file}: ${said.trim() || fault}`);
}

/** YUV4MPEG2, 4:2:0: the same bytes on every machine. */
export function writeRaw(file: string, shot: Shot): void {
  const output = openSync(file, "w");
  try {
    writeSync(output, `YUV4MPEG2 W${shot.lens.width} H${shot.lens.height} F${shot.fps}:1 Ip A1:1 C420jpeg\n`);
    for (const [, frame] of eachFrame(shot)) {
      writeSync(output, "FRAME\n");
      writeSync(output, frame);
    }
  } finally {
    closeSync(output);
  }
}

function* eachFrame({ flight, lens, fps }: Shot): Generator<readonly [number, Uint8Array]> {
  const renderer = new Renderer(lens);
  for (let index = 0; index < frameCount(flight, fps); index++)
    yield [index, renderer.render(poseAt(flight, index / fps), index / fps)];
}
