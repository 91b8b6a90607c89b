import { type ChildProcess, spawn } from "node:child_process";

/**
 * The wall clock as black and white blocks in a frame, readable after any encoder, scaler and decoder: 10 × 4 blocks in the
 * top quarter, 32 bits of milliseconds and 8 check bits. And a publisher of a live stream with it.
 */
export const COLUMNS = 10;
export const ROWS = 4;
const STRIP = 4;
const WHITE = 235;
const BLACK = 16;

export interface Picture {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
  /** Bytes per pixel, of which the first is read: 1 for luma, 4 for RGBA. */
  readonly step: number;
}

const bitsOf = (ms: number): boolean[] => {
  const value = ms % 2 ** 32;
  const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const check = bytes.reduce((sum, byte) => sum ^ byte, 0x5a);
  return [...bytes, check].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => ((byte >> bit) & 1) === 1));
};

/** Draws into the luma plane of a frame. */
export function drawTimeCode(luma: Uint8Array, width: number, height: number, ms: number): void {
  const bits = bitsOf(ms);
  const stripHeight = Math.floor(height / STRIP);
  for (let row = 0; row < ROWS; row++) {
    const top = Math.floor((row * stripHeight) / ROWS);
    const bottom = Math.floor(((row + 1) * stripHeight) / ROWS);
    for (let column = 0; column < COLUMNS; column++) {
      const left = Math.floor((column * width) / COLUMNS);
      const right = Math.floor(((column + 1) * width) / COLUMNS);
      const value = bits[row * COLUMNS + column] ? WHITE : BLACK;
      for (let y = top; y < bottom; y++) luma.fill(value, y * width + left, y * width + right);
    }
  }
}

/**
 * Milliseconds modulo 2³², or null without a valid time code. Self-contained, so that its source can be sent to a page.
 */
export function readTimeCode({ data, width, height, step }: Picture): number | null {
  const columns = 10;
  const rows = 4;
  const bytes = [0, 0, 0, 0, 0];
  for (let block = 0; block < columns * rows; block++) {
    const row = Math.floor(block / columns);
    const x = ((block % columns) + 0.5) / columns;
    const y = (row + 0.5) / rows / 4;
    let sum = 0;
    // The middle of the block: its edges are blurred.
    for (const dy of [-0.15, 0, 0.15]) {
      for (const dx of [-0.15, 0, 0.15]) {
        const px = Math.floor((x + dx / columns) * width);
        const py = Math.floor((y + dy / rows / 4) * height);
        sum += data[(py * width + px) * step] ?? 0;
      }
    }
    const mean = sum / 9;
    if (mean > 96 && mean < 160) return null;
    const byte = block >> 3;
    bytes[byte] = ((bytes[byte] ?? 0) << 1) | (mean > 128 ? 1 : 0);
  }
  const [a = 0, b = 0, c = 0, d = 0, check] = bytes;
  if ((a ^ b ^ c ^ d ^ 0x5a) !== check) return null;
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** The age of a time code at `nowMs`. */
export const ageMs = (nowMs: number, code: number): number => ((nowMs % 2 ** 32) - code + 2 ** 32) % 2 ** 32;

export interface TimeCodeOptions {
  /** `rtsp://…` (over TCP), `rtmp://…`, or a file for an MPEG transport stream. */
  readonly url: string;
  readonly width?: number;
  readonly height?: number;
  readonly framesPerSecond?: number;
  readonly keySeconds?: number;
  readonly bFrames?: number;
  readonly hasSound?: boolean;
  readonly codec?: "h264" | "h265";
}

export interface TimeCodePublisher {
  /** Frames drawn so far. */
  readonly frames: number;
  /** Resolves with the last output of ffmpeg when it has ended. */
  readonly ended: Promise<string>;
  readonly pid: number | undefined;
  /** Kills ffmpeg; resolves when it has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Frames queued for the encoder; further frames are skipped. */
const WAITING_FRAMES = 2;
const KEPT_CHARACTERS = 2000;
/** Between two frames. */
const LEAST_SECONDS = 0.004;

/** Publishes raw frames with a time code, encoded by ffmpeg. */
export function publishTimeCode(options: TimeCodeOptions): TimeCodePublisher {
  const { width = 640, height = 360, framesPerSecond = 30 } = options;
  const encoder = spawn("ffmpeg", listArguments({ ...options, width, height, framesPerSecond }), {
    stdio: ["pipe", "ignore", "pipe"],
  });
  const ended = follow(encoder);
  const frame = Buffer.alloc((width * height * 3) / 2, 128);
  let frames = 0;
  let isOver = false;
  const beganMs = performance.now();
  const next = (): void => {
    if (isOver) return;
    if (encoder.stdin.writableLength <= frame.length * WAITING_FRAMES) {
      drawScene(frame, width, height, frames);
      drawTimeCode(frame, width, height, Date.now());
      encoder.stdin.write(Buffer.from(frame));
    }
    frames++;
    setTimeout(next, Math.max(0, beganMs + (frames * 1000) / framesPerSecond - performance.now()));
  };
  encoder.stdin.on("error", () => {});
  next();
  void ended.then(() => {
    isOver = true;
  });
  return {
    get frames() {
      return frames;
    },
    ended,
    pid: encoder.pid,
    async stop(signal = "SIGKILL") {
      isOver = true;
      encoder.stdin.end();
      encoder.kill(signal);
      await ended;
    },
  };
}

function follow(encoder: ChildProcess): Promise<string> {
  let output = "";
  encoder.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-KEPT_CHARACTERS);
  });
  return new Promise((resolve) => {
    encoder.once("error", (error) => resolve(error.message));
    encoder.once("close", (code) => resolve(output.trim() || `ffmpeg ended with ${code}`));
  });
}

function listArguments(options: TimeCodeOptions & { width: number; height: number; framesPerSecond: number }) {
  const { url, width, height, framesPerSecond, keySeconds = 1, bFrames = 0, hasSound = false } = options;
  const keyFrames = Math.round(framesPerSecond * keySeconds);
  const x265 = `keyint=${keyFrames}:bframes=${bFrames}:pools=1:frame-threads=1:log-level=error`;
  const coder =
    options.codec === "h265"
      ? ["-c:v", "libx265", "-x265-params", x265]
      : ["-x264-params", `fps=${framesPerSecond}`, "-c:v", "libx264", "-bf", String(bFrames), "-g", String(keyFrames)];
  const target = url.startsWith("rtsp:") ? ["-f", "rtsp", "-rtsp_transport", "tcp"] : ["-f", format(url)];
  const sound = ["-f", "lavfi", "-re", "-i", "sine=frequency=440:sample_rate=48000"];
  return [
    ...["-hide_banner", "-loglevel", "error", "-fflags", "nobuffer", "-probesize", "32"],
    // Timestamps from the clock: counted frames would fall behind after a skipped one.
    ...["-use_wallclock_as_timestamps", "1"],
    ...["-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", `${width}x${height}`],
    ...["-framerate", "1000", "-i", "pipe:0", ...(hasSound ? sound : [])],
    // Frames that ffmpeg was late to read have the same time: B-frames among them would have no order.
    ...["-vf", `setpts=if(isnan(PREV_OUTPTS)\\,PTS\\,max(PTS\\,PREV_OUTPTS+${LEAST_SECONDS}/TB))`],
    ...["-fps_mode", "passthrough", "-enc_time_base", "1:90000", ...coder, "-preset", "ultrafast"],
    ...[...(bFrames === 0 ? ["-tune", "zerolatency"] : []), "-flush_packets", "1"],
    ...(hasSound ? ["-c:a", "aac", "-b:a", "64k"] : []),
    ...[...target, url],
  ];
}

const format = (url: string): string => (url.startsWith("rtmp") ? "flv" : "mpegts");

/** A moving scene below the time code: bars, and a bright column that crosses them every 120 frames. */
function drawScene(frame: Buffer, width: number, height: number, count: number): void {
  const top = Math.floor(height / 4);
  const column = Math.floor(((count % 120) / 120) * width);
  const thick = Math.max(2, Math.floor(width / 40));
  for (let y = top; y < height; y++) {
    frame.fill(40 + Math.floor(((y - top) * 120) / (height - top)), y * width, (y + 1) * width);
    frame.fill(220, y * width + column, y * width + Math.min(width, column + thick));
  }
  const chroma = width * height;
  frame.fill(150, chroma, chroma + chroma / 4);
  frame.fill(110, chroma + chroma / 4);
}
