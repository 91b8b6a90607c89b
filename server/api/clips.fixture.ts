/** Videos whose frames can be recognised, made by ffmpeg. */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { keepFileSync } from "../../test/kept-files.fixture.ts";

const FPS = 25;

function encode(args: readonly string[], path: string): string {
  const words = ["-v", "error", "-y", ...args, "-pix_fmt", "yuv420p"];
  const kept = keepFileSync([...words, extname(path).slice(1)], (fresh) => execFileSync("ffmpeg", [...words, fresh]));
  copyFileSync(kept, path);
  return path;
}

/** Sixty frames: the grey of their halves is the number of the frame, in eights and ones. */
export function encodeSteps(path: string, options: readonly string[]): string {
  const input = `nullsrc=size=160x96:rate=${FPS}:duration=2.4,geq=lum='30+25*if(lt(X,W/2),floor(N/8),mod(N,8))':cb=128:cr=128`;
  return encode(["-f", "lavfi", "-i", input, ...options], path);
}
export const H264 = ["-c:v", "libx264", "-qp", "8", "-g", "25", "-sc_threshold", "0"];

/** Which of the frames each picture of a file shows. */
export function readSteps(path: string, args: readonly string[] = []): number[] {
  const decode = ["-v", "error", "-i", path, ...args, "-fps_mode", "passthrough", "-vf", "scale=2:1:flags=area"];
  const raw = execFileSync("ffmpeg", [...decode, "-pix_fmt", "gray", "-f", "rawvideo", "-"]);
  return toSteps([...raw].map((grey) => (grey * 219) / 255 + 16));
}

/** Of the luma of both halves. */
function toSteps(lumas: readonly number[]): number[] {
  const digits = lumas.map((luma) => Math.round((luma - 30) / 25) + 0);
  return Array.from({ length: digits.length / 2 }, (_, i) => (digits[2 * i] ?? 0) * 8 + (digits[2 * i + 1] ?? 0));
}

/** As GStreamer plays it, which follows edit lists, too. */
export function readStepsWithGstreamer(path: string): number[] {
  const raw = `${path}.raw`;
  const decode = ["qtdemux", "!", "h264parse", "!", "avdec_h264", "!", "video/x-raw,format=I420"];
  const args = ["-q", "filesrc", `location=${path}`, "!", ...decode, "!", "filesink", `location=${raw}`];
  execFileSync("gst-launch-1.0", args, { stdio: "pipe" });
  const bytes = readFileSync(raw);
  const [width, height] = [160, 96];
  const frameBytes = width * height * 1.5;
  const at = (frame: number, x: number): number => bytes[frame * frameBytes + (height / 2) * width + x] ?? 0;
  return toSteps(
    Array.from({ length: bytes.length / frameBytes }, (_, i) => [at(i, width / 4), at(i, (3 * width) / 4)]).flat(),
  );
}

export const SQUARE = { x: 100, side: 40, top: (frame: number): number => 20 + 2 * frame };

/** A white square that falls. */
export function encodeFalling(path: string): string {
  const filter = `color=black:size=320x180:rate=${FPS}:duration=2.4[b];color=white:size=40x40:rate=${FPS}:duration=2.4[s];[b][s]overlay=x=${SQUARE.x}:y=20+2*n`;
  return encode(["-filter_complex", filter, ...H264], path);
}

export function describeFalling(frame: number, processUuid: string, startedMs: number): DetectionMessage {
  const box: [number, number, number, number] = [SQUARE.x, SQUARE.top(frame), SQUARE.side, SQUARE.side];
  const [x, y, width, height] = box;
  return {
    timestamp: new Date(startedMs + (frame * 1000) / FPS).toISOString(),
    ...{ source_uri: "", process_uuid: processUuid },
    active_tracks: [
      {
        ...{ track_id: 7, class_id: 0, class_name: "person", bbox: box, confidence: 90 },
        scaled_bbox: [x / 320, y / 180, width / 320, height / 180],
      },
    ],
  };
}

/** Where the coloured pixels of each frame begin and end: the video itself is grey. */
export function readBoxes(path: string): { left: number; bottom: number }[] {
  const args = ["-v", "error", "-i", path, "-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"];
  const raw = execFileSync("ffmpeg", args, { maxBuffer: 2 ** 28 });
  const frameBytes = 320 * 180 * 3;
  return Array.from({ length: raw.length / frameBytes }, (_, frame) => {
    let [left, bottom] = [320, 0];
    for (let i = 0; i < frameBytes; i += 3) {
      const [red = 0, green = 0, blue = 0] = raw.subarray(frame * frameBytes + i, frame * frameBytes + i + 3);
      if (Math.max(red, green, blue) - Math.min(red, green, blue) < 80) continue;
      const at = i / 3;
      left = Math.min(left, at % 320);
      bottom = Math.max(bottom, Math.floor(at / 320) + 1);
    }
    return { left, bottom };
  });
}
