/** What is to be known of a process, now and after a crash of the server: kept here, written down in the background. */
import type { JsonRecord } from "../../schemas/json.ts";
import { dropLive, type LivePlace, mergeLive } from "../../schemas/live-values.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  type Claim,
  type LiveProperties,
  type ProcessRow,
  type ProcessSnapshot,
  releaseClaim,
  saveSnapshot,
} from "../store/processes.ts";
import type { CrashCounts, ProcessCrash, ProcessError, ProcessState } from "./processes.ts";
import { StateWriter } from "./state-writer.ts";
import { TrackIds } from "./track-ids.ts";

export interface LedgerOptions {
  readonly sql: Sql;
  readonly isFile: boolean;
  /** What a client is promised must be written down within this time. */
  readonly saveMs: number;
  /** The process is somebody else's now. */
  onLost(): void;
  onTrouble(error: Error): void;
}

export class Ledger {
  readonly claim: Claim;
  readonly trackIds: TrackIds;
  state: ProcessState = "starting";
  error: ProcessError | null = null;
  desired: ProcessRow["desired"];
  live: LiveProperties;
  params: JsonRecord;
  positionNs: number;
  restarts: number;
  lastError: ProcessCrash | null;
  /** Of a file: frames that no run has processed. Null of a live source: what it shows meanwhile is not counted. */
  framesLost: number | null;
  startedAt: Date | null;
  finishedAt: Date | null = null;
  readonly #options: LedgerOptions;
  readonly #writer: StateWriter;

  constructor(row: ProcessRow, options: LedgerOptions) {
    this.claim = { uuid: row.uuid, fence: row.fence };
    this.trackIds = new TrackIds(row.nextTrackId);
    this.desired = row.desired;
    this.live = row.live;
    this.params = row.params;
    this.positionNs = row.positionNs;
    this.restarts = row.restarts;
    this.lastError = row.lastError === null ? null : { ...row.lastError, at: new Date(row.lastError.at) };
    this.framesLost = options.isFile ? (row.framesLost ?? 0) : null;
    this.startedAt = row.startedAt;
    this.#options = options;
    this.#writer = new StateWriter({
      write: (snapshot) => saveSnapshot(options.sql, this.claim, snapshot),
      onLost: options.onLost,
      onTrouble: options.onTrouble,
    });
  }

  get isActive(): boolean {
    return this.state !== "finished" && this.state !== "failed";
  }

  get crashCounts(): CrashCounts {
    return { restarts: this.restarts, frames_lost: this.framesLost };
  }

  /** Frames of a file that will never be processed. */
  loseFrames(count: number): void {
    if (this.framesLost !== null) this.framesLost += count;
  }

  mergeLive(nodes: LiveProperties): void {
    this.live = mergeLive(this.live, nodes);
  }

  /** Parameters that were changed while it ran, and properties that follow them again. */
  mergeParams(params: JsonRecord, replaced: readonly LivePlace[]): void {
    this.params = { ...this.params, ...params };
    this.live = dropLive(this.live, replaced);
  }

  /** Resolves with true when it is written down, and with false when it never will be. */
  save(): Promise<boolean> {
    return this.#writer.save(this.#snapshot(this.trackIds.reserved));
  }

  /** What a client is promised: rejects when it takes too long to be written down, or never will be. */
  async promise(): Promise<void> {
    const isSaved = await withTimeout(this.#options.saveMs, this.save());
    if (isSaved === false)
      throw new ServiceError("wrong_state", {
        detail:
          "the process ended, or went to another machine, before this was written down; ask for the process before you try again",
      });
    if (isSaved === TIMED_OUT)
      throw new ServiceError("database_unavailable", {
        detail: "it is done, but could not be written down yet; ask for the process before you try again",
      });
  }

  /** Written down for whoever takes it up next, who may do so at once. */
  async release(): Promise<void> {
    await this.#writer.save(this.#snapshot(this.trackIds.next));
    this.close();
    await releaseClaim(this.#options.sql, this.claim).catch(this.#options.onTrouble);
  }

  /** Nothing is written any more. */
  close(): void {
    this.#writer.close();
  }

  #snapshot(nextTrackId: number): ProcessSnapshot {
    return {
      desired: this.desired,
      live: this.live,
      params: this.params,
      state: this.state,
      errorCode: this.error?.code ?? null,
      errorDetail: this.error?.detail ?? null,
      positionNs: this.positionNs,
      nextTrackId,
      restarts: this.restarts,
      lastError: this.lastError === null ? null : { ...this.lastError, at: this.lastError.at.toISOString() },
      framesLost: this.framesLost,
      startedAt: this.startedAt,
      finishedAt: this.finishedAt,
    };
  }
}
