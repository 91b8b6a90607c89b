/**
 * Keeps what processes tell of their tracks, for those whose key had the track logger when they started. Others have no
 * report at all, neither while they run nor afterwards: the interface calls reports a feature of the key, and one that
 * vanished with the end of its process would look like a loss. Nothing here ever makes a process wait.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { type ReportedTrack, TRACK_REPORT_CHANNEL, TrackReport } from "../../schemas/track-report.ts";
import { Poller } from "../async/poller.ts";
import { backoff, withTimeout } from "../async/timing.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { writeEndedReports } from "../store/track-reports.ts";
import { type EndedTracks, endTracks, removeOldTracks, type TrackNews, writeTracks } from "../store/tracks.ts";
import { checkBy } from "../validation.ts";
import { WaitingTracks } from "./waiting-tracks.ts";

interface TrackLogNeeds {
  readonly sql: Sql;
  readonly config: Config["report"];
  readonly log: Logger;
}

/** A process, as far as it matters here. */
export interface LoggedProcess {
  readonly row: Pick<ProcessRow, "uuid" | "hasTrackLogger" | "nextTrackId">;
  follow(listener: (notice: ProcessNotice) => void): () => void;
}

/** For the last words to the database. */
const CLOSE_MS = 3_000;
/** PostgreSQL's classes of faults that are the data's own: trying again mends none of them. */
const BAD_DATA = /^2[23]/;
const DAY_MS = 86_400_000;
/** Of writing down what has ended; the rest waits for the next time. */
const MOST_ROUNDS = 20;

const check = checkBy(TrackReport);

export class TrackLog {
  readonly #needs: TrackLogNeeds;
  readonly #waiting: WaitingTracks;
  /** Their runners are gone: what was live then is not. */
  #ended = new Map<string, EndedTracks>();
  readonly #writing = new Poller(() => this.#writeAgain());
  readonly #sweeping = new Poller(() => this.#sweepAgain());
  #isClosed = false;
  #turn: Promise<void> = Promise.resolve();
  #failures = 0;

  constructor(needs: TrackLogNeeds) {
    const { queued_tracks, queued_points, queued_patch_bytes, flush_seconds, sweep_seconds } = needs.config;
    this.#needs = needs;
    this.#waiting = new WaitingTracks({
      ...{ tracks: queued_tracks, points: queued_points },
      patchBytes: queued_patch_bytes,
    });
    this.#writing.start(flush_seconds * 1000);
    this.#sweeping.start(sweep_seconds * 1000 * Math.random());
  }

  follow(process: LoggedProcess): void {
    const { uuid: processUuid, hasTrackLogger, nextTrackId } = process.row;
    if (!hasTrackLogger) return;
    // Of earlier runs, here or on another machine.
    let lastTrackId = nextTrackId - 1;
    const end = () => this.#end({ processUuid, lastTrackId });
    if (lastTrackId > 0) end();
    process.follow((notice) => {
      if (notice.type === "restarting" || notice.type === "ended") end();
      if (notice.type !== "message" || notice.channel !== TRACK_REPORT_CHANNEL) return;
      for (const track of this.#read(processUuid, notice.message)) {
        this.#waiting.add(processUuid, track);
        lastTrackId = Math.max(lastTrackId, track.id);
      }
    });
  }

  /** Resolves when all that was told so far is in the database. Rejects when it is away: then it waits for the next time. */
  flush(): Promise<void> {
    const done = this.#turn.then(() => this.#write());
    this.#turn = done.catch(() => {});
    return done;
  }

  /** What is too old goes, a little at a time: others need the database meanwhile. */
  async sweep(nowMs = Date.now()): Promise<void> {
    const { sql, config, log } = this.#needs;
    const before = new Date(nowMs - config.retention_days * DAY_MS);
    let removed = 0;
    for (let some = 1; some > 0 && !this.#isClosed; removed += some)
      some = await removeOldTracks(sql, before, config.batch_points);
    if (removed > 0) log.info({ removed }, "removed tracks and points that were too old");
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
    this.#needs.log.error({ process: uuid, fault }, "a track report that is none was not kept");
    return [];
  }

  #end(ended: EndedTracks): void {
    this.#waiting.end(ended);
    this.#ended.set(ended.processUuid, ended);
  }

  async #writeAgain(): Promise<number> {
    const { config, log } = this.#needs;
    try {
      await this.flush();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      log.warn({ err: error }, "tracks could not be written down; it is tried again");
    }
    const lost = this.#waiting.takeLosses();
    if (lost.tracks + lost.points + lost.patches > 0)
      log.error(lost, "so many tracks, points and pictures are lost: too many waited");
    if (this.#failures === 0) return config.flush_seconds * 1000;
    const rule = { firstMs: config.retry_first_seconds * 1000, maxMs: config.retry_most_seconds * 1000 };
    return backoff(this.#failures, rule);
  }

  async #sweepAgain(): Promise<number> {
    const { config, log } = this.#needs;
    await this.sweep().catch((error: unknown) =>
      log.warn({ err: error }, "old tracks could not be removed; it is tried again"),
    );
    return config.sweep_seconds * 1000 * (0.75 + Math.random() / 2);
  }

  async #write(): Promise<void> {
    while (!this.#waiting.isEmpty) {
      const taken = this.#waiting.take(this.#needs.config.batch_points);
      try {
        await this.#writeBatch(taken);
      } catch (error) {
        this.#waiting.putBack(taken);
        for (const ended of this.#ended.values()) this.#waiting.end(ended);
        throw error;
      }
    }
    await this.#writeEnded();
    // So that a report need not be put together while somebody waits for it.
    for (let round = 0; round < MOST_ROUNDS; round++) if ((await writeEndedReports(this.#needs.sql)) === 0) return;
  }

  /** One that cannot be written must not keep the others from it. */
  async #writeBatch(news: readonly TrackNews[]): Promise<void> {
    try {
      await writeTracks(this.#needs.sql, news);
    } catch (error) {
      const [first] = news;
      if (first === undefined || !BAD_DATA.test(String((error as { code?: unknown }).code))) throw error;
      if (news.length === 1) {
        this.#waiting.lose(first);
        this.#needs.log.error({ process: first.processUuid, track: first.id, err: error }, "a track was not kept");
        return;
      }
      const half = Math.ceil(news.length / 2);
      await this.#writeBatch(news.slice(0, half));
      await this.#writeBatch(news.slice(half));
    }
  }

  async #writeEnded(): Promise<void> {
    const ended = [...this.#ended.values()];
    await endTracks(this.#needs.sql, ended);
    for (const one of ended) if (this.#ended.get(one.processUuid) === one) this.#ended.delete(one.processUuid);
  }
}
