/** Asks a child process what is in a video file. It may take only so long and so much; a crash of it is an answer too. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { ProbeResult, type VideoFacts } from "../../schemas/probe.ts";
import { Semaphore } from "../async/semaphore.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { watchUsage } from "../processes/watch-usage.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";

const MOST_OUTPUT_BYTES = 65_536;

const check = checkBy(ProbeResult);

export class VideoProbe {
  readonly #entry: URL;
  readonly #confinement: Confinement;
  readonly #limits: Config["uploads"];
  readonly #log: Logger;
  readonly #slots: Semaphore;

  constructor(entry: URL, confinement: Confinement, limits: Config["uploads"], log: Logger) {
    this.#entry = entry;
    this.#confinement = confinement;
    this.#limits = limits;
    this.#log = log;
    this.#slots = new Semaphore(limits.probes_at_once);
  }

  /** Rejects with `video_invalid` and why; with `malformed_request` once the signal is aborted: nobody waits for it. */
  async examine(file: string, signal: AbortSignal): Promise<VideoFacts> {
    const leave = await this.#slots.acquire(signal);
    try {
      if (signal.aborted) throw abandoned();
      await this.#confinement.share(file);
      const { output, errors, end } = await this.#run(file, signal);
      if (signal.aborted) throw abandoned();
      const result = readResult(output);
      if (result?.video) return result.video;
      if (result?.fault) throw invalid(result.fault);
      this.#log.warn({ end, errors }, "a video could not be looked into");
      throw invalid(`cannot be looked into: ${end}`);
    } finally {
      leave();
    }
  }

  #run(file: string, signal: AbortSignal): Promise<{ output: string; errors: string; end: string }> {
    const { probe_seconds: seconds, probe_memory_bytes: memoryBytes } = this.#limits;
    const child = this.#confinement.spawn({ entry: this.#entry, args: [file], memoryBytes, reads: [file] });
    let end = "";
    const kill = (reason: string) => {
      end ||= reason;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => kill(`it took longer than ${seconds} s`), seconds * 1000);
    const watch = watchUsage(child, memoryBytes, () => kill("it took too much memory"));
    const giveUp = () => kill("nobody waits for it");
    signal.addEventListener("abort", giveUp, { once: true });
    const output = collect(child.stdout, () => kill("it said too much"));
    const errors = collect(child.stderr);
    return new Promise((resolve) => {
      const finish = (reason: string) => {
        clearTimeout(timer);
        watch.close();
        signal.removeEventListener("abort", giveUp);
        resolve({ output: output(), errors: errors(), end: end || reason });
      };
      child.once("error", (error) => finish(`the program that looks could not be started (${error.message})`));
      child.once("close", (code, signal) => finish(`the program that looks ended with ${signal ?? code}`));
    });
  }
}

function readResult(output: string): ProbeResult | null {
  try {
    const value: unknown = JSON.parse(output);
    return check(value).length === 0 ? (value as ProbeResult) : null;
  } catch {
    return null;
  }
}

/** Keeps the first part. */
function collect(stream: NodeJS.ReadableStream | null, whenTooMuch?: () => void): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (chunk: string) => {
    if (text.length < MOST_OUTPUT_BYTES) text += chunk;
    else whenTooMuch?.();
  });
  return () => text.slice(0, MOST_OUTPUT_BYTES);
}

const abandoned = (): ServiceError =>
  new ServiceError("malformed_request", { detail: "the connection closed while the video was looked at" });

const invalid = (reason: string): ServiceError =>
  new ServiceError("video_invalid", {
    detail: `the file ${reason}; expected an mp4, mov or avi with a video in it`,
    errors: [{ path: "file", message: reason }],
  });
