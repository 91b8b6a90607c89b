/** ffmpeg and GStreamer as publishers and players, which reconnect after a disconnect. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);
const RETRY_MS = 200;
/** Between the duration of one and two frames of the clips. */
const GAP_SECONDS = 0.06;

export interface ClipOptions {
  readonly size?: string;
  readonly kilobits?: number;
}

/** 8 seconds at 25 fps, with a keyframe every second. */
export async function makeLoop(file: string, { size = "320x240", kilobits = 300 }: ClipOptions = {}): Promise<string> {
  const source = `-v error -y -f lavfi -i testsrc2=size=${size}:rate=25 -t 8 -pix_fmt yuv420p`;
  const coding = `-c:v libx264 -preset veryfast -bf 0 -g 25 -b:v ${kilobits}k -maxrate ${kilobits}k -bufsize ${kilobits}k`;
  await run("ffmpeg", [...source.split(" "), ...coding.split(" "), file]);
  return file;
}

/** A program that is restarted when it ends, until it is stopped. */
abstract class Client {
  /** Number of starts. */
  starts = 0;
  /** The end of its error output. */
  lastErrors = "";
  readonly #program: string;
  readonly #args: readonly string[];
  #child: ChildProcess | null = null;
  #isWanted = true;
  #retryTimer: NodeJS.Timeout | undefined;

  protected constructor(program: string, args: readonly string[]) {
    this.#program = program;
    this.#args = args;
  }

  protected abstract handleLine(line: string): void;
  protected abstract onStart(): void;

  get pid(): number {
    return this.#child?.pid ?? assert.fail(`${this.#program} is not running: ${this.lastErrors}`);
  }

  /** Resolves when the current process has exited. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  /** For failure messages. */
  toString(): string {
    const state = this.#child === null ? "is not running" : `runs as ${this.#child.pid}`;
    return `${this.#program} ${state}, started ${this.starts} times; errors: ${this.lastErrors.slice(-500)}`;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    clearTimeout(this.#retryTimer);
    this.#child?.kill("SIGKILL");
    await this.ended();
  }

  /** Restarts it now, and allows restarts again after `rest`. */
  resume(): void {
    this.#isWanted = true;
    clearTimeout(this.#retryTimer);
    if (this.#child === null) this.#start();
  }

  /** Prevents restarts. */
  rest(): void {
    this.#isWanted = false;
    clearTimeout(this.#retryTimer);
  }

  #start(): void {
    this.starts++;
    this.onStart();
    const child = spawn(this.#program, this.#args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => this.handleLine(line));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.lastErrors = (this.lastErrors + text).slice(-2000);
    });
    child.once("exit", () => {
      this.#child = null;
      if (this.#isWanted) this.#retryTimer = setTimeout(() => this.#start(), RETRY_MS);
    });
  }
}

export class Publisher extends Client {
  /** Seconds of the clip since the last start. */
  sentSeconds = 0;
  /** The final value of the last start that sent anything. */
  lastSentSeconds = 0;

  /** `url` includes the key. */
  constructor(clip: string, url: string) {
    const container = url.startsWith("rtsp:") ? ["-f", "rtsp", "-rtsp_transport", "tcp"] : ["-f", "flv"];
    const reporting = ["-progress", "pipe:1", "-stats_period", "0.1"];
    const input = ["-re", "-stream_loop", "-1", "-i", clip, "-c", "copy"];
    super("ffmpeg", ["-v", "error", "-nostdin", ...reporting, ...input, ...container, url]);
    this.resume();
  }

  protected override onStart(): void {
    if (this.sentSeconds > 0) this.lastSentSeconds = this.sentSeconds;
    this.sentSeconds = 0;
  }

  protected override handleLine(line: string): void {
    const sentUs = /^out_time_us=(\d+)$/.exec(line)?.[1];
    if (sentUs !== undefined) this.sentSeconds = Number(sentUs) / 1e6;
  }
}

export type PlayerKind = "ffmpeg" | "gst";

export class Player extends Client {
  /** Of all starts. */
  pictures = 0;
  /** Seconds missing between two pictures of one start. Only ffmpeg reports the original times. */
  readonly gaps: number[] = [];
  readonly kind: PlayerKind;
  #tick = 1 / 90_000;
  #last: number | null = null;

  constructor(kind: PlayerKind, url: string) {
    super(...(kind === "ffmpeg" ? ffmpegPlayer(url) : gstPlayer(url)));
    this.kind = kind;
    this.resume();
  }

  protected override onStart(): void {
    this.#last = null;
  }

  protected override handleLine(line: string): void {
    if (this.kind === "gst") {
      if (/identity0: last-message = chain/.test(line)) this.pictures++;
      return;
    }
    const base = /^#tb 0: (\d+)\/(\d+)$/.exec(line);
    if (base !== null) this.#tick = Number(base[1]) / Number(base[2]);
    const [, , time] = /^0, *(-?\d+), *(-?\d+),/.exec(line) ?? [];
    if (time === undefined) return;
    const seconds = Number(time) * this.#tick;
    if (this.#last !== null && seconds - this.#last > GAP_SECONDS) this.gaps.push(seconds - this.#last);
    this.#last = seconds;
    this.pictures++;
  }
}

const ffmpegPlayer = (url: string): [string, string[]] => [
  "ffmpeg",
  [
    ...["-v", "error", "-nostdin", "-rtsp_transport", "tcp", "-probesize", "32768", "-analyzeduration", "100000"],
    ...["-i", url, "-map", "0:v", "-c", "copy", "-flush_packets", "1", "-f", "framecrc", "-"],
  ],
];

const gstPlayer = (url: string): [string, string[]] => [
  "gst-launch-1.0",
  [
    ...["-v", "rtspsrc", `location=${url}`, "protocols=tcp", "latency=100", "!", "rtph264depay", "!", "h264parse", "!"],
    ...["video/x-h264,alignment=au", "!", "identity", "silent=false", "!", "fakesink", "sync=false"],
  ],
];
