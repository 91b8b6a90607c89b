/** Examines video files in a confined child process with limits for time, memory and output. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { ProbeResult, type VideoFacts } from "../../schemas/probe.ts";
import { FairSlots } from "../async/fair-slots.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { runOnce } from "../confinement/run-once.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";

/** An operator sets the others (`uploads`). */
const LIMITS = {
  /** Maximum memory of a probe. */
  memoryBytes: 2 ** 30,
  /** Maximum number of concurrent probes, one of a key; others wait, as long as a probe may take. */
  atOnce: 2,
};

const check = checkBy(ProbeResult);

export class VideoProbe {
  readonly #entry: URL;
  readonly #confinement: Confinement;
  readonly #config: Config["uploads"];
  readonly #memoryBytes: number;
  readonly #log: Logger;
  readonly #slots: FairSlots;

  constructor(entry: URL, confinement: Confinement, config: Config["uploads"], log: Logger, limits = LIMITS) {
    this.#entry = entry;
    this.#confinement = confinement;
    this.#config = config;
    this.#memoryBytes = limits.memoryBytes;
    this.#log = log;
    this.#slots = new FairSlots(limits.atOnce);
  }

  /**
   * Rejects with `video_invalid` and the reason; with `malformed_request` when the signal is aborted; with `rate_limited` while
   * others are examined.
   */
  async examine(file: string, key: string, signal: AbortSignal): Promise<VideoFacts> {
    const release = await this.#slots.acquire(key, signal, this.#config.probe_seconds * 1000);
    if (signal.aborted) {
      release?.();
      throw aborted();
    }
    if (release === null) throw busy();
    try {
      await this.#confinement.share(file);
      const order = { entry: this.#entry, files: [file], memoryBytes: this.#memoryBytes, name: "the probe" };
      const seconds = this.#config.probe_seconds;
      const { output, errors, end } = await runOnce(this.#confinement, { ...order, seconds }, signal);
      if (signal.aborted) throw aborted();
      const result = readResult(output);
      if (result?.video) return result.video;
      if (result?.fault) throw invalid(result.fault);
      this.#log.warn({ end, errors }, "video could not be examined");
      throw invalid(`cannot be examined: ${end}`);
    } finally {
      release();
    }
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

const aborted = (): ServiceError =>
  new ServiceError("malformed_request", { detail: "the connection closed while the video was examined" });

const busy = (): ServiceError =>
  new ServiceError("rate_limited", {
    ...{
      detail: "other videos are being examined, one of a key at a time; try again in a moment",
      retryAfterSeconds: 5,
    },
  });

const invalid = (reason: string): ServiceError =>
  new ServiceError("video_invalid", {
    detail: `the file ${reason}; expected an mp4, mov, avi, ts, mkv or webm with a video in it`,
    errors: [{ path: "file", message: reason }],
  });
