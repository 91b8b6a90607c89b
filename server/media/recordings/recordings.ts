/** Recordings of media-server sources: made by the hub, written down, handed out, and removed in time. */
import type { Logger } from "pino";
import type { Config } from "../../../schemas/config.ts";
import { Again } from "../../processes/again.ts";
import { ServiceError } from "../../service-error.ts";
import type { Sql } from "../../store/client.ts";
import type { Page, PageRequest } from "../../store/page.ts";
import {
  removeOldestRecording,
  removeOldestSegment,
  removeOldRecordings,
  removeOldSegments,
} from "../../store/recording-upkeep.ts";
import {
  deleteRecording,
  type FoundSegment,
  findSegment,
  listRecordings,
  type RecordingRow,
  recordingNotFound,
} from "../../store/recordings.ts";
import type { User } from "../../user.ts";
import type { RecordingSubject } from "../admission.ts";
import type { RecordingReport } from "../hub-process.ts";
import { DiskGuard } from "./disk-guard.ts";
import { removeOldestFile, removeOldFiles } from "./old-files.ts";
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
/** What has been written to since is still being written. */
const WRITTEN_MS = 60_000;

export class Recordings {
  readonly folder: RecordingFolder;
  readonly #parts: RecordingsParts;
  readonly #ledger: RecordingLedger;
  readonly #disk: DiskGuard;
  readonly #sweeping: Again;
  readonly #looking: Again;

  private constructor(parts: RecordingsParts, folder: RecordingFolder) {
    const { sql, config, log, nodeUuid, onAllowed } = parts;
    const { sweep_seconds, disk_seconds, reserve_bytes } = config.recordings;
    this.folder = folder;
    this.#parts = parts;
    this.#ledger = new RecordingLedger({ sql, log, nodeUuid });
    this.#disk = new DiskGuard({
      reserveBytes: reserve_bytes,
      log,
      freeBytes: () => folder.freeBytes(),
      removeOldest: () => this.#removeOldest(),
      onAllowed,
    });
    this.#sweeping = new Again(() => this.#attempt(() => this.sweep(), sweep_seconds * 1000));
    this.#looking = new Again(() => this.#attempt(() => this.#disk.look(), disk_seconds * 1000));
  }

  /** Makes the folder and puts in order what is in it. */
  static async open(parts: RecordingsParts): Promise<Recordings> {
    const { sql, config, log, nodeUuid } = parts;
    const folder = new RecordingFolder(config.data_dir);
    await folder.prepare();
    const isOwnDatabase = config.database.url === null;
    const open = await putRecordingsInOrder({ sql, folder, nodeUuid, log, isOwnDatabase });
    const recordings = new Recordings(parts, folder);
    for (const recording of open) recordings.#ledger.adopt(recording);
    await recordings.sweep();
    recordings.#sweeping.begin(config.recordings.sweep_seconds * 1000);
    if (config.recordings.enabled) recordings.#looking.begin(0);
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

  list(user: User, request: PageRequest): Promise<Page<RecordingRow>> {
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
    await deleteRecording(this.#parts.sql, user.uuid, uuid);
    await this.folder.remove(uuid);
  }

  /** What is too old goes. First its rows: files without rows are found by the next start. */
  async sweep(): Promise<void> {
    const { sql, config, nodeUuid, log, otherFolders = [] } = this.#parts;
    const before = new Date(Date.now() - config.recordings.retention_days * DAY_MS);
    const recordings = await removeOldRecordings(sql, nodeUuid, before);
    for (const uuid of recordings) await this.folder.remove(uuid);
    const segments = await removeOldSegments(sql, nodeUuid, before);
    for (const { recordingUuid, index } of segments) await this.folder.removeSegment(recordingUuid, index);
    let files = segments.length;
    for (const folder of otherFolders) files += await removeOldFiles(folder, before.getTime());
    if (recordings.length + files > 0) log.info({ recordings: recordings.length, files }, "removed what was too old");
  }

  async #removeOldest(): Promise<boolean> {
    const { sql, nodeUuid } = this.#parts;
    const recording = await removeOldestRecording(sql, nodeUuid);
    if (recording !== null) {
      await this.folder.remove(recording);
      return true;
    }
    const segment = await removeOldestSegment(sql, nodeUuid);
    if (segment !== null) {
      await this.folder.removeSegment(segment.recordingUuid, segment.index);
      return true;
    }
    for (const folder of this.#parts.otherFolders ?? [])
      if (await removeOldestFile(folder, Date.now() - WRITTEN_MS)) return true;
    return false;
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
