/** The persistent state of a process: current here, stored in the background, enough to resume it on any node. */
import type { JsonRecord } from "../../schemas/json.ts";
import { dropLive, type LivePlace, mergeLive } from "../../schemas/live-values.ts";
import { backoff, sleep, TIMED_OUT, withTimeout } from "../async/timing.ts";
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

export interface ProcessRecordOptions {
  readonly sql: Sql;
  readonly isFile: boolean;
  /** What a client is promised must be stored within this time. */
  readonly saveMs: number;
  /** Another node owns the process. */
  onLost(): void;
  onRetry(error: Error): void;
}

export class ProcessRecord {
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
  /** Frames of a file that no runner has processed; null for a live source. */
  framesLost: number | null;
  startedAt: Date | null;
  finishedAt: Date | null = null;
  readonly #options: ProcessRecordOptions;
  readonly #writer: LatestWriter<ProcessSnapshot>;

  constructor(row: ProcessRow, options: ProcessRecordOptions) {
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
    this.#writer = new LatestWriter({
      write: (snapshot) => saveSnapshot(options.sql, this.claim, snapshot),
      onLost: options.onLost,
      onRetry: options.onRetry,
    });
  }

  get isActive(): boolean {
    return this.state !== "finished" && this.state !== "failed";
  }

  /** For clients: a process that is restarted keeps the state that it should have. */
  get shownState(): ProcessState {
    if (this.state !== "starting" || this.startedAt === null) return this.state;
    return this.desired === "paused" ? "paused" : "running";
  }

  get crashCounts(): CrashCounts {
    return { restarts: this.restarts, frames_lost: this.framesLost };
  }

  loseFrames(count: number): void {
    if (this.framesLost !== null) this.framesLost += count;
  }

  /** `replaced`: properties that follow a param again. */
  merge(nodes: LiveProperties, params: JsonRecord, replaced: readonly LivePlace[]): void {
    this.params = { ...this.params, ...params };
    this.live = mergeLive(dropLive(this.live, replaced), nodes);
  }

  /** Resolves with true when it is stored, with false when it never will be. */
  save(): Promise<boolean> {
    return this.#writer.save(this.#snapshot(this.trackIds.reserved));
  }

  /** Before a client gets its response: rejects when storing takes too long or is impossible. */
  async saveForClient(): Promise<void> {
    const isSaved = await withTimeout(this.#options.saveMs, this.save());
    if (isSaved === false)
      throw new ServiceError("wrong_state", {
        detail:
          "the process ended, or another node took it over, before the change was stored; read the process before you try again",
      });
    if (isSaved === TIMED_OUT)
      throw new ServiceError("database_unavailable", {
        detail: "the change is applied but not stored yet; read the process before you try again",
      });
  }

  /** Stores it for the next owner, who may take it over at once. */
  async release(): Promise<void> {
    await this.#writer.save(this.#snapshot(this.trackIds.next));
    this.close();
    await releaseClaim(this.#options.sql, this.claim).catch(this.#options.onRetry);
  }

  /** Nothing is stored from now on. */
  close(): void {
    this.#writer.close();
  }

  #snapshot(nextTrackId: number): ProcessSnapshot {
    const { desired, live, params, state, positionNs, restarts, framesLost, startedAt, finishedAt } = this;
    return {
      ...{ desired, live, params, state, positionNs, nextTrackId, restarts, framesLost, startedAt, finishedAt },
      errorCode: this.error?.code ?? null,
      errorDetail: this.error?.detail ?? null,
      lastError: this.lastError === null ? null : { ...this.lastError, at: this.lastError.at.toISOString() },
    };
  }
}

export interface LatestWriterOptions<T> {
  /** False: another node owns it now. */
  write(value: T): Promise<boolean>;
  /** Nothing is written from now on. */
  onLost(): void;
  onRetry(error: Error): void;
}

const RETRY = { firstMs: 200, maxMs: 5_000 };

/** Writes the latest value: while the database is unreachable one value waits, not a queue, and is retried. */
export class LatestWriter<T> {
  readonly #options: LatestWriterOptions<T>;
  readonly #closing = new AbortController();
  #next: { readonly value: T } | null = null;
  #waiting: ((isWritten: boolean) => void)[] = [];
  #isWriting = false;

  constructor(options: LatestWriterOptions<T>) {
    this.#options = options;
  }

  /** Resolves with true when this value, or a later one, is written, and with false when none ever will be. */
  save(value: T): Promise<boolean> {
    if (this.#closing.signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#next = { value };
      this.#waiting.push(resolve);
      if (!this.#isWriting) void this.#write();
    });
  }

  close(): void {
    this.#closing.abort();
  }

  async #write(): Promise<void> {
    const { write, onLost, onRetry } = this.#options;
    const { signal } = this.#closing;
    this.#isWriting = true;
    for (let failures = 0; this.#next !== null && !signal.aborted; ) {
      const current = this.#next;
      const waiting = this.#waiting.splice(0);
      this.#next = null;
      try {
        const isOurs = await write(current.value);
        failures = 0;
        for (const resolve of waiting) resolve(isOurs);
        if (isOurs || signal.aborted) continue;
        this.close();
        onLost();
      } catch (error) {
        failures += 1;
        this.#next ??= current;
        this.#waiting.unshift(...waiting);
        onRetry(error as Error);
        await sleep(backoff(failures, RETRY), signal);
      }
    }
    this.#isWriting = false;
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }
}

/** How far ahead of the ids in use the stored one is. */
const RESERVE = 1000;

/**
 * Track ids are never used twice, whatever crashes. The stored number is some seconds old, so it stays ahead of the ids
 * in use.
 */
export class TrackIds {
  #next: number;
  #reserved: number;

  constructor(next: number) {
    this.#next = next;
    this.#reserved = next + RESERVE;
  }

  /** The first that no client has received. */
  get next(): number {
    return this.#next;
  }

  /** To be stored: after a crash of the server the next runner begins there. */
  get reserved(): number {
    return this.#reserved;
  }

  /** True when more had to be reserved, which must be stored. */
  advance(next: number): boolean {
    if (next <= this.#next) return false;
    this.#next = next;
    if (next <= this.#reserved - RESERVE / 2) return false;
    this.#reserved = next + RESERVE;
    return true;
  }

  /** From a message to clients (`active_tracks`), or from a track report (`tracks`), which is stored. */
  noteMessage({ active_tracks: shown, tracks: reported }: JsonRecord): boolean {
    let highest = 0;
    for (const track of Array.isArray(shown) ? shown : []) highest = Math.max(highest, readId(track, "track_id"));
    for (const track of Array.isArray(reported) ? reported : []) highest = Math.max(highest, readId(track, "id"));
    return this.advance(highest + 1);
  }
}

function readId(track: unknown, name: string): number {
  const id = (track as JsonRecord | null)?.[name];
  return typeof id === "number" ? id : 0;
}
