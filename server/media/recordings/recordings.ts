/** Recordings of media-server sources: made by the hub, written down, handed out, and removed in time. */
import type { Logger } from "pino";
import type { Config } from "../../../schemas/config.ts";
import { Poller } from "../../async/poller.ts";
import { ServiceError } from "../../service-error.ts";
import type { Sql } from "../../store/client.ts";
import type { Page } from "../../store/page.ts";
import { removeOldRecordings, removeOldSegments } from "../../store/recording-upkeep.ts";
import {
  deleteRecording,
  type FoundSegment,
  findSegment,
  listRecordings,
  type RecordingRow,
  type RecordingsRequest,
  recordingNotFound,
} from "../../store/recordings.ts";
import type { User } from "../../user.ts";
import type { RecordingSubject } from "../admission.ts";
import type { RecordingReport } from "../hub-process.ts";
import { DiskGuard } from "./disk-guard.ts";
import { type LiveRecorder, LiveRecordings } from "./live-recordings.ts";
import { removeOldFiles } from "./old-files.ts";
import { removeOldest } from "./oldest.ts";
import { putRecordingsInOrder } from "./put-in-order.ts";
import { RecordingFolder } from "./recording-folder.ts";
import { RecordingLedger } from "./recording-ledger.ts";

export interface RecordingsParts {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Files of the same age that are kept as long: `<folder>/<anything>/<file>`. */
  readonly otherFolders?: readonly string[];
  /** Whether anything may be recorded, when that changes. */
  onAllowed(isAllowed: boolean): void;
}

/** One file, ready to be sent. */
export interface SegmentFile extends Pick<FoundSegment, "alias" | "startedAt" | "sizeBytes"> {
  readonly path: string;
}

const DAY_MS = 86_400_000;
const FAILED_MS = 10_000;
/** In one sweep, because of the quota. */
const MOST_REMOVED = 200;

export class Recordings {
  readonly folder: RecordingFolder;
  readonly #parts: RecordingsParts;
  readonly #ledger: RecordingLedger;
  readonly #disk: DiskGuard;
  readonly #live: LiveRecordings;
  readonly #sweeping: Poller;
  readonly #looking: Poller;

  private constructor(parts: RecordingsParts, folder: RecordingFolder) {
    const { sql, config, log, nodeUuid, onAllowed } = parts;
    const { sweep_seconds, disk_seconds, reserve_bytes } = config.recordings;
    this.folder = folder;
    this.#parts = parts;
    const ledger = new RecordingLedger({
      ...{ sql, log, nodeUuid },
      onUnknown: (uuid, path) => this.#leaveUnknown(uuid, path),
    });
    this.#ledger = ledger;
    this.#live = new LiveRecordings({
      ...{ sql, log },
      isRecorded: (path) => ledger.isRecorded(path),
      name: (subject) => this.name(subject),
    });
    this.#disk = new DiskGuard({
      reserveBytes: reserve_bytes,
      log,
      freeBytes: () => folder.freeBytes(),
      removeOldest: () => removeOldest(this.#place),
      onAllowed: (isAllowed) => {
        this.#live.forgive();
        onAllowed(isAllowed);
      },
    });
    this.#sweeping = new Poller(() => this.#attempt(() => this.sweep(), sweep_seconds * 1000));
    this.#looking = new Poller(() => this.#attempt(() => this.#look(), disk_seconds * 1000));
  }

  /** Makes the folder and puts in order what is in it. */
  static async open(parts: RecordingsParts): Promise<Recordings> {
    const { sql, config, log, nodeUuid } = parts;
    const folder = new RecordingFolder(config.data_dir);
    await folder.prepare();
    const isOwnDatabase = config.database.url === null;
    const untold = await putRecordingsInOrder({ sql, folder, nodeUuid, log, isOwnDatabase });
    const recordings = new Recordings(parts, folder);
    for (const recording of untold.kept) recordings.#ledger.adopt(recording);
    for (const name of untold.names) recordings.#ledger.adoptFiles(name);
    await recordings.sweep();
    recordings.#sweeping.start(config.recordings.sweep_seconds * 1000);
    if (config.recordings.enabled) recordings.#looking.start(0);
    return recordings;
  }

  async close(): Promise<void> {
    await Promise.all([this.#sweeping.close(), this.#looking.close()]);
    await this.#ledger.close();
  }

  /** Null when all is well. */
  get trouble(): string | null {
    return this.#disk.trouble;
  }

  /** Names of those that the next hub is to tell of. */
  get untold(): readonly string[] {
    return this.#ledger.untold;
  }

  /** From now on streams that are live and not recorded are: there was no room, or their recording failed. */
  follow(recorder: LiveRecorder): void {
    this.#live.follow(recorder);
  }

  /** Null when it is not to be recorded. */
  name(subject: RecordingSubject): string | null {
    if (!this.#parts.config.recordings.enabled || !this.#disk.isAllowed) return null;
    return this.#ledger.name(subject);
  }

  hear(report: RecordingReport): void {
    if (report.type === "segment") this.#ledger.note(report.segment);
    else if (report.type === "repaired") this.#ledger.settle();
    else {
      const { recording, stoppedAtMs, detail } = report;
      if (detail !== null) this.#parts.log.warn({ recording, detail }, "a recording ended before its stream");
      this.#ledger.conclude(recording, stoppedAtMs, detail);
    }
  }

  loseHub(): void {
    this.#ledger.loseHub();
  }

  list(user: User, request: RecordingsRequest): Promise<Page<RecordingRow>> {
    return listRecordings(this.#parts.sql, user.uuid, request);
  }

  /** `user` null: a signed address was good for it. Rejects with `recording_not_found` or `recording_unavailable`. */
  async find(user: User | null, uuid: string, index: number): Promise<SegmentFile> {
    const found = await findSegment(this.#parts.sql, uuid, index);
    if (found === null || (user !== null && user.uuid !== found.userUuid)) throw recordingNotFound(uuid);
    if (await this.folder.hasSegment(uuid, index)) return { ...found, path: this.folder.segmentPath(uuid, index) };
    if (found.nodeUuid === this.#parts.nodeUuid) throw recordingNotFound(uuid);
    throw new ServiceError("recording_unavailable", {
      detail: "the files of this recording are on another machine, which is not this one",
    });
  }

  /** Rejects with `recording_not_found` or `recording_unavailable`. */
  async remove(user: User, uuid: string): Promise<void> {
    const { sql, nodeUuid } = this.#parts;
    await deleteRecording(sql, { userUuid: user.uuid, uuid, nodeUuid }, () => this.folder.remove(uuid));
  }

  get #place() {
    const { sql, nodeUuid, otherFolders = [] } = this.#parts;
    return { sql, nodeUuid, folder: this.folder, otherFolders };
  }

  /** Users that have more than they may lose their oldest; what is left above it goes with the next sweep. */
  async #keepQuota(): Promise<void> {
    const { config, log } = this.#parts;
    let removed = 0;
    while (removed < MOST_REMOVED && (await removeOldest(this.#place, config.recordings.bytes_per_key)) !== null)
      removed += 1;
    if (removed > 0) log.info({ removed }, "recordings removed: recordings.bytes_per_key exceeded");
  }

  /** What is too old goes. First its rows: files without rows are found by the next start. One that stays keeps no other. */
  async sweep(): Promise<void> {
    const { sql, config, nodeUuid, log, otherFolders = [] } = this.#parts;
    const before = new Date(Date.now() - config.recordings.retention_days * DAY_MS);
    const recordings = await removeOldRecordings(sql, nodeUuid, before);
    for (const uuid of recordings) await this.#removeFiles(uuid, () => this.folder.remove(uuid));
    const segments = await removeOldSegments(sql, nodeUuid, before);
    for (const { recordingUuid: uuid, index } of segments)
      await this.#removeFiles(uuid, () => this.folder.removeSegment(uuid, index));
    let files = segments.length;
    for (const folder of otherFolders) files += await removeOldFiles(folder, before.getTime());
    if (recordings.length + files > 0) log.info({ recordings: recordings.length, files }, "removed what was too old");
    await this.#keepQuota();
  }

  async #removeFiles(recording: string, remove: () => Promise<unknown>): Promise<void> {
    await remove().catch((error: unknown) =>
      this.#parts.log.warn({ err: error, recording }, "files of an old recording could not be removed"),
    );
  }

  async #look(): Promise<void> {
    await this.#disk.look();
    if (this.#disk.isAllowed) await this.#live.look();
  }

  /** Files of something that no source is there for any more: to an own database nobody's. */
  async #leaveUnknown(uuid: string, path: string | null): Promise<void> {
    const { log, config } = this.#parts;
    const isRemoved = config.database.url === null;
    if (isRemoved) await this.folder.remove(uuid);
    const words = isRemoved ? "removed a recording that is nobody's" : "there is a recording that nobody knows";
    log.warn({ recording: uuid, path }, words);
  }

  async #attempt(act: () => Promise<void>, everyMs: number): Promise<number> {
    try {
      await act();
      return everyMs;
    } catch (error) {
      this.#parts.log.warn({ err: error }, "recordings could not be kept in order; it is tried again");
      return Math.max(everyMs, FAILED_MS);
    }
  }
}
