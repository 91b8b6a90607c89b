/**
 * Stores the tracks of processes whose key had the track logger when they started. Other processes have no report, neither
 * while running nor afterwards: reports are a feature of the key. Never delays a process.
 *
 * Not a `BatchWriter`: a reader of a report waits for `flush`, which rejects while the database is unavailable.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { type ReportedTrack, TRACK_REPORT_CHANNEL, TrackReport } from "../../schemas/track-report.ts";
import { writeSome } from "../async/batch-writer.ts";
import { Poller, sweepEvery } from "../async/poller.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { backoff, withTimeout } from "../async/timing.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { writeEndedReports } from "../store/track-reports.ts";
import { type EndedTracks, endTracks, removeOldTracks, writeTracks } from "../store/tracks.ts";
import { checkBy } from "../validation.ts";
import { TrackQueue } from "./track-queue.ts";

interface TrackLogDeps {
  readonly sql: Sql;
  readonly config: Config["report"];
  readonly log: Logger;
  /** For tests. */
  readonly limits?: Partial<TrackLimits>;
}

/** An operator sets the others (`report`). */
const LIMITS = {
  /** Interval for storing tracks. */
  flushMs: 2_000,
  /** Interval for writing the reports of tracks that have ended. */
  reportMs: 5_000,
  /** Maximum queue for the database in tracks; the oldest are dropped. */
  queuedTracks: 20_000,
  /** Maximum queue for the database in track points. */
  queuedPoints: 100_000,
  /** Maximum queue in bytes of track images; the oldest are dropped. */
  queuedPatchBytes: 64 * 2 ** 20,
  /** Maximum number of points and tracks that are stored or removed in one batch. */
  batchPoints: 5_000,
  /** Interval for removing expired tracks. */
  sweepMs: 600_000,
  /** While the database is unavailable. */
  retry: { firstMs: 200, maxMs: 5_000 },
};
export type TrackLimits = Readonly<typeof LIMITS>;

/** The part of a process that is used here. */
export interface LoggedProcess {
  readonly row: Pick<ProcessRow, "uuid" | "hasTrackLogger" | "nextTrackId">;
  readonly fence: number;
  follow(listener: (notice: ProcessNotice) => void): () => void;
}

/** Time limit for each of the last writes. */
const CLOSE_MS = 3_000;
const DAY_MS = 86_400_000;
/** Of writing reports; the rest is written next time. */
const MAX_ROUNDS = 20;

const check = checkBy(TrackReport);

export class TrackLog {
  readonly #deps: TrackLogDeps;
  readonly #limits: TrackLimits;
  readonly #queue: TrackQueue;
  /** Their runners have ended: no track is live. */
  #ended = new Map<string, EndedTracks>();
  readonly #writing = new Poller(() => this.#writeAgain());
  readonly #sweeping: Poller;
  #isClosed = false;
  readonly #flushes = new SerialQueue();
  /** When reports were last written. */
  #reportedMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(deps: TrackLogDeps) {
    const limits = { ...LIMITS, ...deps.limits };
    this.#deps = deps;
    this.#limits = limits;
    this.#queue = new TrackQueue({
      ...{ tracks: limits.queuedTracks, points: limits.queuedPoints },
      patchBytes: limits.queuedPatchBytes,
    });
    this.#writing.start(limits.flushMs);
    this.#sweeping = sweepEvery(
      limits.sweepMs,
      () => this.sweep(),
      (error) => deps.log.warn({ err: error }, "old tracks could not be removed; retrying"),
    );
  }

  follow(process: LoggedProcess): void {
    const { uuid: processUuid, hasTrackLogger, nextTrackId } = process.row;
    if (!hasTrackLogger) return;
    // Of earlier runs, on any machine.
    let lastTrackId = nextTrackId - 1;
    const { fence } = process;
    const end = () => this.#end({ processUuid, fence, lastTrackId });
    if (lastTrackId > 0) end();
    process.follow((notice) => {
      if (notice.type === "restarting" || notice.type === "ended") end();
      if (notice.type !== "message" || notice.channel !== TRACK_REPORT_CHANNEL) return;
      for (const track of this.#read(processUuid, notice.message)) {
        this.#queue.add({ uuid: processUuid, fence }, track);
        lastTrackId = Math.max(lastTrackId, track.id);
      }
    });
  }

  /** Resolves when everything queued so far is written. Rejects while the database is unavailable; the queue is kept. */
  flush(): Promise<void> {
    return this.#flushes.run(async () => {
      await this.#write();
      await this.#writeReports();
    });
  }

  /** Removes old tracks in small steps, to keep transactions short. */
  async sweep(nowMs = Date.now()): Promise<void> {
    const { sql, config, log } = this.#deps;
    const before = new Date(nowMs - config.retention_days * DAY_MS);
    let removed = 0;
    for (let some = 1; some > 0 && !this.#isClosed; removed += some)
      some = await removeOldTracks(sql, before, this.#limits.batchPoints);
    if (removed > 0) log.info({ removed }, "old tracks and points removed");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await withTimeout(CLOSE_MS, this.#sweeping.close());
    await withTimeout(CLOSE_MS, this.#writing.close());
    await withTimeout(CLOSE_MS, this.flush());
  }

  #read(uuid: string, message: JsonRecord): readonly ReportedTrack[] {
    const [fault] = check(message);
    if (fault === undefined) return (message as TrackReport).tracks;
    this.#deps.log.error({ process: uuid, fault }, "invalid track report dropped");
    return [];
  }

  #end(ended: EndedTracks): void {
    this.#queue.end(ended);
    this.#ended.set(ended.processUuid, ended);
  }

  async #writeAgain(): Promise<number> {
    const { log } = this.#deps;
    try {
      const isReportDue = performance.now() - this.#reportedMs >= this.#limits.reportMs;
      await (isReportDue ? this.flush() : this.#flushes.run(() => this.#write()));
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      log.warn({ err: error }, "tracks could not be written; retrying");
    }
    const lost = this.#queue.takeLosses();
    if (lost.tracks + lost.points + lost.patches > 0) log.error(lost, "tracks, points or images lost: queue full");
    return this.#failures === 0 ? this.#limits.flushMs : backoff(this.#failures, this.#limits.retry);
  }

  async #write(): Promise<void> {
    const { sql, log } = this.#deps;
    // What comes while it writes waits for the next time.
    for (let left = this.#queue.size; left > 0; ) {
      const taken = this.#queue.take(this.#limits.batchPoints);
      left -= taken.length;
      try {
        for (let rest = taken; rest.length > 0; )
          rest = rest.slice(
            await writeSome(rest, {
              write: (part) => writeTracks(sql, part),
              onRejected: (track, error) => {
                this.#queue.drop(track);
                log.error(
                  { process: track.processUuid, track: track.id, err: error },
                  "track dropped: it cannot be stored",
                );
              },
            }),
          );
      } catch (error) {
        this.#queue.putBack(taken);
        for (const ended of this.#ended.values()) this.#queue.end(ended);
        throw error;
      }
    }
    const ended = [...this.#ended.values()];
    await endTracks(sql, ended);
    for (const one of ended) if (this.#ended.get(one.processUuid) === one) this.#ended.delete(one.processUuid);
  }

  /** So that reports are ready when they are requested. */
  async #writeReports(): Promise<void> {
    this.#reportedMs = performance.now();
    for (let round = 0; round < MAX_ROUNDS; round++) if ((await writeEndedReports(this.#deps.sql)) === 0) return;
  }
}
