/**
 * One report being enhanced: tracks in the order of their ids, some at a time, each batch written down with its place.
 * A child that dies is replaced, and goes on behind the last track that is done.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { EnhancedTrack } from "../../schemas/enhancement.ts";
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
import { EnhancerProcess } from "./enhancer-process.ts";

export interface JobNeeds {
  readonly sql: Sql;
  readonly config: Config["enhancement"];
  readonly log: Logger;
  readonly entry: URL;
  readonly confinement: Confinement;
}

interface JobParts {
  readonly row: EnhancementRow;
  /** Aborted when it is somebody else's, or the server stops. */
  readonly signal: AbortSignal;
  /** Whoever asked for it waits: a child that cannot be started is not tried again. */
  readonly isAwaited: boolean;
}

/** Thrown inside only: there is nothing more to do here. */
class Over extends Error {
  override readonly name = "Over";
}

export class EnhancementJob {
  readonly #needs: JobNeeds;
  readonly #parts: JobParts;
  readonly #log: Logger;
  #child: EnhancerProcess | null = null;
  #lastTrackId: number;
  #isAwaited: boolean;
  #resolveStarted: (fault: string | null) => void = () => {};
  /** Null: it works, or has nothing to do. Else why it does not. */
  readonly started: Promise<string | null>;

  constructor(needs: JobNeeds, parts: JobParts) {
    this.#needs = needs;
    this.#parts = parts;
    this.#log = needs.log.child({ process: parts.row.processUuid });
    this.#lastTrackId = parts.row.lastTrackId;
    this.#isAwaited = parts.isAwaited;
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
  }

  /** Of its child, for tests. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when nothing is left to do, or to be done here. Never rejects. */
  async run(): Promise<void> {
    const onAbort = () => this.#child?.kill("it was told to stop");
    this.#parts.signal.addEventListener("abort", onAbort);
    try {
      while (await this.#enhanceSome());
    } catch (error) {
      if (!(error instanceof Over)) this.#log.error({ err: error }, "a fault of ours: an enhancement broke off");
    } finally {
      this.#parts.signal.removeEventListener("abort", onAbort);
      this.#child?.kill("there is nothing more to do");
      await this.#child?.gone;
      this.#resolveStarted(null);
    }
  }

  /** False: that was all. */
  async #enhanceSome(): Promise<boolean> {
    const { sql, config } = this.#needs;
    const { processUuid } = this.#parts.row;
    const tracks = await this.#insist(() =>
      readTracksToEnhance(sql, processUuid, this.#lastTrackId, config.batch_tracks),
    );
    if (tracks.length === 0) {
      await this.#insist(() => endEnhancement(sql, this.#parts.row, null));
      this.#log.info("enhanced");
      return false;
    }
    const done: EnhancedTrack[] = [];
    try {
      const child = await this.#openChild();
      await child.enhance(tracks, (track) => done.push(track));
      await this.#write(done);
    } catch (error) {
      if (error instanceof Over || this.#parts.signal.aborted) throw error;
      // What it had done before it died is done.
      await this.#write(done);
      await this.#survive((error as Error).message);
    }
    return true;
  }

  async #openChild(): Promise<EnhancerProcess> {
    if (this.#child !== null) return this.#child;
    const { entry, confinement, config, log } = this.#needs;
    const child = new EnhancerProcess({
      ...{ entry, confinement, log, loadMs: config.load_seconds * 1000, trackMs: config.track_seconds * 1000 },
      memoryBytes: config.memory_bytes,
    });
    this.#child = child;
    if (this.#parts.signal.aborted) child.kill("it was told to stop");
    await child.ready;
    this.#isAwaited = false;
    this.#resolveStarted(null);
    return child;
  }

  async #write(done: readonly EnhancedTrack[]): Promise<void> {
    const last = done.at(-1);
    if (last === undefined) return;
    const isOurs = await this.#insist(() => writeEnhanced(this.#needs.sql, this.#parts.row, done));
    if (!isOurs) throw new Over();
    this.#lastTrackId = last.id;
  }

  /** Returns when it may be tried again. */
  async #survive(why: string): Promise<void> {
    const { sql, config } = this.#needs;
    const { row, signal } = this.#parts;
    this.#log.error({ lines: this.#child?.lastLines, why }, "the child that enhances has ended");
    this.#child?.kill("it is of no use");
    await this.#child?.gone;
    this.#child = null;
    const crashes = await this.#insist(() => countCrash(sql, row));
    if (crashes === null) throw new Over();
    if (this.#isAwaited || crashes > config.restarts) {
      const times = crashes === 1 ? "" : ` ${crashes} times in a row`;
      const fault = `what enhances tracks failed${times}, after track ${this.#lastTrackId}: ${why}`;
      await this.#insist(() => endEnhancement(sql, row, fault));
      this.#resolveStarted(fault);
      throw new Over();
    }
    await sleep(backoff(crashes, this.#rule), signal);
  }

  /** A database that is away is waited for: what it holds is not lost. */
  async #insist<T>(act: () => Promise<T>): Promise<T> {
    const { signal } = this.#parts;
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw new Over();
      try {
        return await act();
      } catch (error) {
        this.#log.warn({ err: error }, "the database does not take what was enhanced; it is tried again");
        await sleep(backoff(attempt, this.#rule), signal);
      }
    }
  }

  get #rule() {
    const { restart_first_seconds, restart_most_seconds } = this.#needs.config;
    return { firstMs: restart_first_seconds * 1000, maxMs: restart_most_seconds * 1000 };
  }
}
