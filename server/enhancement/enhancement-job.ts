/**
 * The enhancement of one report: tracks by id, in batches, each written together with its progress. A crashed child is
 * replaced, and continues after the last finished track.
 */
import type { Logger } from "pino";
import { Child, describeExit } from "../../ipc/child.ts";
import type { Config } from "../../schemas/config.ts";
import {
  ENHANCE_PROTOCOL,
  type EnhancedTrack,
  EnhanceMessage,
  type EnhanceRequest,
  type TrackToEnhance,
} from "../../schemas/enhancement.ts";
import { backoff, sleep } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import type { Sql } from "../store/client.ts";
import {
  countCrash,
  type EnhancementRow,
  endEnhancement,
  readTracksToEnhance,
  writeEnhanced,
} from "../store/enhancements.ts";

/** An operator sets the others (`enhancement`). */
export const LIMITS = {
  /** Number of tracks that are enhanced and stored in one batch. */
  batchTracks: 16,
  /** Time limit for loading the enhancer. */
  loadMs: 30_000,
  /** Time limit for enhancing one track. */
  trackMs: 30_000,
  /** Number of consecutive crashes without progress after which an enhancement fails. */
  restarts: 3,
  /** Delays before restarts of the crashed enhancer. */
  restart: { firstMs: 500, maxMs: 15_000 },
};
export type EnhancementLimits = Readonly<typeof LIMITS>;

interface JobDeps {
  readonly sql: Sql;
  readonly config: Config["enhancement"];
  readonly limits: EnhancementLimits;
  readonly log: Logger;
  readonly entry: URL;
  readonly confinement: Confinement;
}

interface JobOptions {
  readonly row: EnhancementRow;
  /** Aborted when the lease is lost, or the server stops. */
  readonly signal: AbortSignal;
  /** A client waits for the start: a child that cannot be started is not retried. */
  readonly isAwaited: boolean;
}

/** Thrown inside only: the job ends without another result. */
class JobOver extends Error {}

export class EnhancementJob {
  readonly #deps: JobDeps;
  readonly #options: JobOptions;
  readonly #log: Logger;
  #enhancer: Enhancer | null = null;
  #lastTrackId: number;
  #isAwaited: boolean;
  #resolveStarted: (fault: string | null) => void = () => {};
  /** Null: it is running, or has nothing to do. Else why it failed. */
  readonly started: Promise<string | null>;

  constructor(deps: JobDeps, options: JobOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#log = deps.log.child({ process: options.row.processUuid });
    this.#lastTrackId = options.row.lastTrackId;
    this.#isAwaited = options.isAwaited;
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
  }

  /** Of its child, for tests. */
  get pid(): number | undefined {
    return this.#enhancer?.child.pid;
  }

  /** Resolves when it is done, has failed, or belongs to another machine. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const onAbort = () => this.#enhancer?.child.kill("the job was stopped");
    signal.addEventListener("abort", onAbort);
    try {
      while (await this.#enhanceBatch());
    } catch (error) {
      if (!(error instanceof JobOver)) this.#log.error({ err: error }, "enhancement failed: internal error");
    } finally {
      signal.removeEventListener("abort", onAbort);
      await this.#closeEnhancer("the job has ended");
      this.#resolveStarted(null);
    }
  }

  /** False: all tracks are done. */
  async #enhanceBatch(): Promise<boolean> {
    const { sql, limits } = this.#deps;
    const { row, signal } = this.#options;
    const tracks = await this.#retry(() =>
      readTracksToEnhance(sql, row.processUuid, this.#lastTrackId, limits.batchTracks),
    );
    if (tracks.length === 0) {
      await this.#retry(() => endEnhancement(sql, row, null));
      this.#log.info("enhancement finished");
      return false;
    }
    const done: EnhancedTrack[] = [];
    try {
      const enhancer = await this.#openEnhancer();
      await enhancer.enhance(tracks, (track) => done.push(track));
      await this.#write(done);
    } catch (error) {
      if (error instanceof JobOver || signal.aborted) throw error;
      // Tracks finished before the crash count.
      await this.#write(done);
      await this.#handleCrash((error as Error).message);
    }
    return true;
  }

  async #openEnhancer(): Promise<Enhancer> {
    if (this.#enhancer !== null) return this.#enhancer;
    const enhancer = new Enhancer(this.#deps);
    this.#enhancer = enhancer;
    if (this.#options.signal.aborted) enhancer.child.kill("the job was stopped");
    await enhancer.ready;
    this.#isAwaited = false;
    this.#resolveStarted(null);
    return enhancer;
  }

  async #closeEnhancer(reason: string): Promise<void> {
    this.#enhancer?.child.kill(reason);
    await this.#enhancer?.child.gone;
    this.#enhancer = null;
  }

  async #write(done: readonly EnhancedTrack[]): Promise<void> {
    const last = done.at(-1);
    if (last === undefined) return;
    const isOwner = await this.#retry(() => writeEnhanced(this.#deps.sql, this.#options.row, done));
    if (!isOwner) throw new JobOver();
    this.#lastTrackId = last.id;
  }

  /** Resolves when it can be retried. */
  async #handleCrash(reason: string): Promise<void> {
    const { sql, limits } = this.#deps;
    const { row, signal } = this.#options;
    this.#log.error({ lines: this.#enhancer?.child.lastLines, reason }, "enhancer crashed");
    await this.#closeEnhancer("it failed");
    const crashes = await this.#retry(() => countCrash(sql, row));
    if (crashes === null) throw new JobOver();
    if (this.#isAwaited || crashes > limits.restarts) {
      const times = crashes === 1 ? "" : ` ${crashes} times in succession`;
      const fault = `the enhancer failed${times}, after track ${this.#lastTrackId}: ${reason}`;
      await this.#retry(() => endEnhancement(sql, row, fault));
      this.#resolveStarted(fault);
      throw new JobOver();
    }
    await sleep(backoff(crashes, this.#deps.limits.restart), signal);
  }

  /** While the database is unavailable. */
  async #retry<T>(act: () => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw new JobOver();
      try {
        return await act();
      } catch (error) {
        this.#log.warn({ err: error }, "enhancement cannot use the database; retrying");
        await sleep(backoff(attempt, this.#deps.limits.restart), signal);
      }
    }
  }
}

const NAME = "the enhancer";

/** The confined child process that analyses images. It keeps no state. Owner: the job. */
class Enhancer {
  /** Rejects with the reason. */
  readonly ready: Promise<void>;
  readonly child: Child<EnhanceRequest, EnhanceMessage>;
  readonly #ended: Promise<never>;
  readonly #trackMs: number;
  #onTrack: (track: EnhancedTrack) => void = () => {};

  constructor({ entry, confinement, log, config, limits }: JobDeps) {
    const { memory_bytes: memoryBytes } = config;
    this.#trackMs = limits.trackMs;
    let onReady = (): void => {};
    const ready = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    const child = new Child<EnhanceRequest, EnhanceMessage>({
      ...{ name: NAME, protocol: ENHANCE_PROTOCOL, receives: EnhanceMessage, log, memoryBytes },
      loadMs: limits.loadMs,
      spawn: () => confinement.spawn({ entry, memoryBytes, hasChannel: true }),
      onMessage: (message) => {
        if (message.type === "failed") child.kill(message.detail);
        else if (message.type === "enhanced") {
          child.refresh();
          this.#onTrack(message.track);
        } else if (message.type === "ready") {
          for (const missing of message.lacks) log.warn({ pid: child.pid }, missing);
          child.unwatch();
          onReady();
        }
      },
    });
    this.child = child;
    this.#ended = child.gone.then((exit) => {
      throw new Error(describeExit(NAME, exit));
    });
    this.#ended.catch(() => {});
    void child.loaded.then(
      () => child.expectWithin(limits.loadMs, `it was not ready within ${limits.loadMs / 1000} s`),
      () => {},
    );
    this.ready = Promise.race([ready, this.#ended]);
    this.ready.catch(() => {});
  }

  /** Rejects when the child ends; tracks passed to `onTrack` are finished in any case. */
  async enhance(tracks: readonly TrackToEnhance[], onTrack: (track: EnhancedTrack) => void): Promise<void> {
    const left = tracks.map(({ id }) => id);
    const done = new Promise<void>((resolve) => {
      this.#onTrack = (track) => {
        if (track.id !== left.shift()) return this.child.kill("it reported a track out of order");
        onTrack(track);
        if (left.length === 0) resolve();
      };
    });
    this.child.expectWithin(this.#trackMs, `a track took longer than ${this.#trackMs / 1000} s`);
    this.child.send({ type: "enhance", tracks: [...tracks] });
    try {
      await Promise.race([done, this.#ended]);
    } finally {
      this.child.unwatch();
    }
  }
}
