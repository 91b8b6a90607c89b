/** Recordings of media-server sources: the hub writes the files, the server lists, serves and removes them. */
import type { Logger } from "pino";
import type { TimeRange } from "../../../media/mp4/clip.ts";
import type { Config } from "../../../schemas/config.ts";
import { Poller } from "../../async/poller.ts";
import { SerialQueue } from "../../async/serial-queue.ts";
import { backoff } from "../../async/timing.ts";
import type { ByteRange, Pieces } from "../../files/file-store.ts";
import type { SharedFiles } from "../../files/open-files.ts";
import { ServiceError } from "../../service-error.ts";
import type { Sql } from "../../store/client.ts";
import { endLostRecordings, removeAboveQuota, removeOldProcessFiles } from "../../store/files.ts";
import type { Page } from "../../store/page.ts";
import {
  claimRecordings,
  closeRecording,
  deleteRecording,
  type FoundSegment,
  findSegment,
  findSegments,
  forgetMissing,
  forgetOthers,
  type KeptRecording,
  listRecordings,
  type RecordingRow,
  type RecordingsRequest,
  recordingNotFound,
  removeOldRecordings,
  removeOldSegments,
} from "../../store/recordings.ts";
import { findWanted, keepRing, removeEmptyRings, trimRings, type WantedRecording } from "../../store/rings.ts";
import type { User } from "../../user.ts";
import type { RecordingSubject } from "../authorization.ts";
import type { MediaHub, RecordingReport } from "../media-hub.ts";
import { DiskGuard, removeOldest } from "./disk-space.ts";
import { RecordingFolder, removeOldFiles } from "./recording-files.ts";
import { RecordingWriter } from "./recording-writer.ts";

export interface RecordingsDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Other files with the same retention: `<folder>/<process>/<file>`. */
  readonly otherFolders?: readonly string[];
  /** The same, for files that count in the quota, but whose age is not ours to limit. */
  readonly keptFolders?: readonly string[];
  /** Null or undefined: recordings stay in the data folder. */
  readonly files?: SharedFiles | null;
  /** Whether recording is allowed has changed. */
  onAllowed(isAllowed: boolean): void;
  /** Interval for removing expired recordings; set in tests. */
  readonly sweepMs?: number;
}

/** One file, ready to be sent. */
export interface SegmentFile extends Pick<FoundSegment, "alias" | "startedAt" | "sizeBytes"> {
  readonly path: string;
  /** From the bucket. */
  readonly read?: (range: ByteRange) => Promise<Pieces>;
}

/** Its files are on the disk of another node. */
export class ElsewhereError extends ServiceError {
  readonly nodeUuid: string;

  constructor(nodeUuid: string) {
    super("recording_unavailable", { detail: "the files of this recording are on another machine" });
    this.nodeUuid = nodeUuid;
  }
}

/** Sources that processes of this node pull, and publish to the hub when they are to be recorded. */
export interface Pulled {
  readonly uuids: readonly string[];
  /** The path of each source that is to be published now. */
  sync(paths: ReadonlyMap<string, string>): void;
  /** Why there is no video of a source; null: there is, or it is not known. */
  whyNot(sourceUuid: string): string | null;
}

type Recorder = Pick<MediaHub, "livePaths" | "isOwn" | "find" | "record" | "lengthenSegments" | "endRecording">;

const DAY_MS = 86_400_000;
const RETRY_MS = 10_000;
const SWEEP_MS = 30_000;
/** Interval for checking the free disk space. */
const DISK_MS = 1_000;
/** Per sweep, because of the quota. */
const MAX_REMOVED = 200;
/** Of recordings of one stream that fail in succession. */
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** Of the files of a ring: what is kept more than needed. */
const RING_SEGMENT_SECONDS = 5;
/** Interval for removing old files of rings. */
const TRIM_MS = 10_000;
/** Interval for reading what is to be recorded. */
const WANTED_MS = 4_000;

type Subjects = [
  streams: readonly { readonly path: string; readonly protocol: string | null }[],
  pulled: readonly string[],
];

export class Recordings {
  readonly folder: RecordingFolder;
  readonly #deps: RecordingsDeps;
  readonly #writer: RecordingWriter;
  readonly #disk: DiskGuard;
  readonly #sweeping: Poller;
  readonly #checking: Poller;
  /** A change of the settings is not applied by two at once. */
  readonly #applying = new SerialQueue();
  #recorder: Recorder | null = null;
  #pulled: Pulled | null = null;
  #trimmedMs = Number.NEGATIVE_INFINITY;
  #wanted: { readonly key: string; readonly readMs: number; readonly found: readonly WantedRecording[] } | null = null;
  /** Up to when streams were to be recorded by the last notice that is recorded, by path. Empty after a restart. */
  readonly #alerted = new Map<string, number>();
  /** To record live streams, by path. */
  #attempts = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();

  private constructor(deps: RecordingsDeps, folder: RecordingFolder) {
    const { sql, config, log, nodeUuid, onAllowed, sweepMs = SWEEP_MS } = deps;
    this.folder = folder;
    this.#deps = deps;
    const onUnknown = (uuid: string, path: string | null) => this.#leaveUnknown(uuid, path);
    this.#writer = new RecordingWriter({ sql, log, nodeUuid, onUnknown });
    this.#disk = new DiskGuard({
      reserveBytes: config.recordings.reserve_bytes,
      log,
      freeBytes: () => folder.freeBytes(),
      removeOldest: () => removeOldest(this.#onDisk),
      onAllowed: (isAllowed) => {
        // Recordings that failed may succeed now.
        this.#attempts.clear();
        onAllowed(isAllowed);
      },
    });
    this.#sweeping = new Poller(() => this.#attempt(() => this.sweep(), sweepMs));
    this.#checking = new Poller(() => this.#attempt(() => this.#applying.run(() => this.#check()), DISK_MS));
  }

  /** Creates the folder, or matches its files with the database after a crash. */
  static async open(deps: RecordingsDeps): Promise<Recordings> {
    const { config, sweepMs = SWEEP_MS } = deps;
    const folder = new RecordingFolder(config.data_dir);
    await folder.prepare();
    const recordings = new Recordings(deps, folder);
    await recordings.#recover();
    await recordings.sweep();
    recordings.#sweeping.start(sweepMs);
    recordings.#checking.start(0);
    return recordings;
  }

  async close(): Promise<void> {
    await Promise.all([this.#sweeping.close(), this.#checking.close()]);
    await this.#writer.close();
  }

  /** Null if streams are recorded. */
  get trouble(): string | null {
    return this.#disk.trouble;
  }

  /** Recordings whose files the next hub reports. */
  get unreported(): readonly string[] {
    return this.#writer.unreported;
  }

  /** From now on live streams that are not recorded (the disk was full, or their recording failed) are. */
  connect(recorder: Recorder): void {
    this.#recorder = recorder;
  }

  /** From now on sources that processes pull are recorded, too. */
  connectPulled(pulled: Pulled): void {
    this.#pulled = pulled;
  }

  /** Why a source that a process of this node pulls cannot be recorded; null: it can, or none does. */
  whyNot(sourceUuid: string): string | null {
    return this.#pulled?.whyNot(sourceUuid) ?? null;
  }

  /** Null: it is not recorded. */
  name(subject: RecordingSubject): string | null {
    if (!this.#deps.config.recordings.enabled || !this.#disk.isAllowed) return null;
    return this.#writer.name(subject);
  }

  handle(report: RecordingReport): void {
    if (report.type === "segment") this.#writer.update(report.segment);
    else if (report.type === "repaired") this.#writer.onRepaired();
    else {
      const { recording, stoppedAtMs, detail } = report;
      if (detail !== null) this.#deps.log.warn({ recording, detail }, "recording ended before its stream");
      this.#writer.end(recording, stoppedAtMs, detail);
    }
  }

  onHubLost(): void {
    this.#writer.onHubLost();
  }

  list(user: User, request: RecordingsRequest): Promise<Page<RecordingRow>> {
    return listRecordings(this.#deps.sql, user.uuid, request);
  }

  /** `user` null: the URL was signed. Rejects with `recording_not_found` or `recording_unavailable`. */
  async find(user: User | null, uuid: string, index: number): Promise<SegmentFile> {
    const found = await findSegment(this.#deps.sql, uuid, index);
    if (found === null || (user !== null && user.uuid !== found.userUuid)) throw recordingNotFound(uuid);
    const file = await this.#locate(found);
    if (file !== null) return file;
    if (found.nodeUuid === this.#deps.nodeUuid) throw recordingNotFound(uuid);
    throw new ElsewhereError(found.nodeUuid);
  }

  /**
   * The files of a source with frames in this range, oldest first. Those on the disk of another node are left out with
   * `isPartial`; otherwise it rejects with `ElsewhereError`.
   */
  findRange(user: User, sourceUuid: string, range: TimeRange, isPartial: boolean): Promise<readonly SegmentFile[]> {
    return this.findRangeOf(user.uuid, sourceUuid, range, isPartial);
  }

  async findRangeOf(
    userUuid: string,
    sourceUuid: string,
    range: TimeRange,
    isPartial: boolean,
  ): Promise<readonly SegmentFile[]> {
    const [from, to] = [new Date(range.fromMs), new Date(range.toMs)];
    const found = await findSegments(this.#deps.sql, { userUuid, sourceUuid, from, to });
    const files: SegmentFile[] = [];
    for (const segment of found) {
      const file = await this.#locate(segment);
      if (file !== null) files.push(file);
      else if (!isPartial && segment.nodeUuid !== this.#deps.nodeUuid) throw new ElsewhereError(segment.nodeUuid);
    }
    return files;
  }

  /** Null: it is neither here nor in the bucket. */
  async #locate(found: FoundSegment): Promise<SegmentFile | null> {
    const { uuid, index, storedKey } = found;
    const { files } = this.#deps;
    const path = this.folder.segmentPath(uuid, index);
    if (await this.folder.hasSegment(uuid, index)) return { ...found, path };
    return storedKey === null || files == null
      ? null
      : { ...found, path, read: (range) => files.read(storedKey, range) };
  }

  /** Rejects with `recording_not_found` or `recording_unavailable`. */
  async remove(user: User, uuid: string): Promise<void> {
    const { sql, nodeUuid } = this.#deps;
    const removeFiles = (): Promise<void> => this.folder.remove(uuid);
    const order = { userUuid: user.uuid, uuid, nodeUuid };
    await deleteRecording(sql, order, removeFiles, (holder) => new ElsewhereError(holder));
  }

  /** Removes what is too old or above the quota. Rows first: the next start finds files without rows. */
  async sweep(): Promise<void> {
    const { sql, config, nodeUuid, log, files, otherFolders = [] } = this.#deps;
    const before = new Date(Date.now() - config.recordings.retention_days * DAY_MS);
    await removeEmptyRings(sql, nodeUuid);
    const recordings = await removeOldRecordings(sql, nodeUuid, before);
    for (const uuid of recordings) await this.#removeFiles(uuid, () => this.folder.remove(uuid));
    const segments = await removeOldSegments(sql, nodeUuid, before);
    for (const { recordingUuid: uuid, index } of segments)
      await this.#removeFiles(uuid, () => this.folder.removeSegment(uuid, index));
    let old = segments.length;
    for (const folder of otherFolders) old += await removeOldFiles(folder, before.getTime());
    if (recordings.length + old > 0) log.info({ recordings: recordings.length, files: old }, "old recordings removed");
    let removed = 0;
    while (removed < MAX_REMOVED && (await removeOldest(this.#onDisk, config.recordings.bytes_per_key)) !== null)
      removed += 1;
    if (files != null) removed += await this.#sweepBucket(before);
    if (removed > 0) log.info({ removed }, "recordings removed: recordings.bytes_per_key exceeded");
  }

  /** Rows only: the objects are removed afterwards, by any node. Resolves with what exceeded the quota. */
  async #sweepBucket(before: Date): Promise<number> {
    const { sql, config, log } = this.#deps;
    const lost = await endLostRecordings(sql);
    if (lost > 0) log.warn({ count: lost }, "recordings of lost nodes ended");
    await removeOldProcessFiles(sql, before);
    return removeAboveQuota(sql, config.recordings.bytes_per_key);
  }

  get #onDisk() {
    const { sql, nodeUuid, otherFolders = [], keptFolders = [] } = this.#deps;
    return { sql, nodeUuid, folder: this.folder, otherFolders: [...otherFolders, ...keptFolders] };
  }

  /** A failure does not keep other files from being removed. */
  async #removeFiles(recording: string, remove: () => Promise<unknown>): Promise<void> {
    await remove().catch((error: unknown) =>
      this.#deps.log.warn({ err: error, recording }, "files of an old recording could not be removed"),
    );
  }

  async #check(): Promise<void> {
    if (this.#deps.config.recordings.enabled) await this.#disk.check();
    if (this.#disk.isAllowed && this.#recorder !== null) await this.#recordLive(this.#recorder);
    if (performance.now() - this.#trimmedMs >= TRIM_MS) await this.#trimRings();
  }

  /** After a change of what is to be recorded: applies it to the streams of this node now, instead of within seconds. */
  async apply(): Promise<void> {
    if (this.#disk.isAllowed && this.#recorder !== null)
      await this.#applying.run(() => {
        this.#wanted = null;
        return this.#recordLive(this.#recorder);
      });
  }

  /** Starts and ends recordings of live streams: also of one that failed, and when the disk has space again. */
  async #recordLive(recorder: Recorder | null): Promise<void> {
    if (recorder === null) return;
    const live = new Set(recorder.livePaths);
    for (const path of this.#attempts.keys()) if (!live.has(path)) this.#attempts.delete(path);
    for (const path of this.#alerted.keys()) if (!live.has(path)) this.#alerted.delete(path);
    // Of what processes of this server publish, only what they pull is recorded.
    const paths = [...live].filter((path) => !recorder.isOwn(path));
    const pulled = this.#pulled?.uuids ?? [];
    if (paths.length + pulled.length === 0) return;
    const streams = paths.map((path) => ({ path, protocol: recorder.find(path)?.protocol ?? null }));
    const found = await this.#readWanted(streams, pulled);
    const needed = found.filter((subject) => subject.isPulled && this.#isNeeded(subject));
    this.#pulled?.sync(new Map(needed.map(({ sourceUuid, path }) => [sourceUuid, path])));
    for (const wanted of found) await this.#adjust(recorder, this.#withMissedAlert(wanted));
  }

  /** Read again when other streams are live, and after a while. */
  async #readWanted(...subjects: Subjects): Promise<readonly WantedRecording[]> {
    const key = JSON.stringify(subjects);
    const known = this.#wanted;
    if (known?.key === key && performance.now() - known.readMs < WANTED_MS) return known.found;
    const found = await findWanted(this.#deps.sql, ...subjects);
    this.#wanted = { key, readMs: performance.now(), found };
    return found;
  }

  /** With `on_alert` it is there when the alert comes: to begin with its next keyframe would be late. */
  #isNeeded(subject: WantedRecording): boolean {
    const { enabled } = this.#deps.config.recordings;
    return chooseKind(subject, enabled) !== null || (enabled && subject.mode === "on_alert");
  }

  /** Of a notice whose time was over before this check, the recording has at least the seconds that were kept. */
  #withMissedAlert(subject: WantedRecording): WantedRecording {
    const { path, wantedUntil, isAlerted } = subject;
    if (wantedUntil === null) return subject;
    const current = this.#writer.current(path);
    if (current !== null && !current.isRing) this.#alerted.set(path, wantedUntil.getTime());
    return { ...subject, isAlerted: isAlerted || this.#alerted.get(path) !== wantedUntil.getTime() };
  }

  async #adjust(recorder: Recorder, subject: WantedRecording): Promise<void> {
    const { path } = subject;
    // It may have ended during the lookup.
    if (recorder.find(path) === null) return;
    const kind = chooseKind(subject, this.#deps.config.recordings.enabled);
    const current = this.#writer.current(path);
    if (current === null) {
      if (kind !== null) this.#record(recorder, subject, kind === "ring");
    } else if (current.isRing && kind === "recording") {
      // Before its first file is stored there is no row to keep.
      if (current.isStored) await this.#keep(recorder, current.uuid, subject);
    } else if ((kind === null || current.isRing !== (kind === "ring")) && current.isStored) {
      this.#deps.log.info({ path, recording: current.uuid }, "recording of a live stream ended");
      recorder.endRecording(current.uuid);
    }
  }

  #record(recorder: Recorder, subject: WantedRecording, isRing: boolean): void {
    const { path } = subject;
    const nowMs = performance.now();
    const { count: failures, notBeforeMs } = this.#attempts.get(path) ?? { count: 0, notBeforeMs: 0 };
    if (notBeforeMs > nowMs) return;
    const count = nowMs - notBeforeMs <= BACKOFF.maxMs ? failures + 1 : 1;
    this.#attempts.set(path, { count, notBeforeMs: nowMs + backoff(count, BACKOFF) });
    const recording = this.#writer.name(subject, isRing);
    this.#deps.log.info({ path, recording, isRing }, "recording of a live stream started");
    recorder.record(path, recording, isRing ? RING_SEGMENT_SECONDS : undefined);
  }

  /** A ring becomes a recording, with its last seconds. */
  async #keep(recorder: Recorder, uuid: string, { path, preRollSeconds }: WantedRecording): Promise<void> {
    const removed = await keepRing(this.#deps.sql, uuid, preRollSeconds);
    this.#writer.onKept(uuid);
    recorder.lengthenSegments(uuid);
    this.#deps.log.info({ path, recording: uuid, preRollSeconds }, "recording of a live stream started");
    for (const { index } of removed) await this.#removeFiles(uuid, () => this.folder.removeSegment(uuid, index));
  }

  async #trimRings(): Promise<void> {
    const { sql, nodeUuid, config } = this.#deps;
    this.#trimmedMs = performance.now();
    for (const { recordingUuid: uuid, index } of await trimRings(sql, nodeUuid, config.recordings.ring_bytes_per_key))
      await this.#removeFiles(uuid, () => this.folder.removeSegment(uuid, index));
  }

  /** Matches rows and files after a crash. No file is removed: one without a row may be a complete recording. */
  async #recover(): Promise<void> {
    const { sql, nodeUuid, log, config } = this.#deps;
    const names = await this.folder.list();
    const kept = await claimRecordings(sql, nodeUuid, names);
    const known = new Set(kept.map(({ uuid }) => uuid));
    // An external database may just be the wrong one.
    if (config.database.url === null) {
      const forgotten = await forgetOthers(sql, names);
      if (forgotten > 0) log.warn({ count: forgotten }, "recordings without files removed from the database");
    }
    for (const recording of kept) if (await this.#isIncomplete(recording)) this.#writer.adopt(recording);
    for (const name of names) if (!known.has(name)) this.#writer.adoptFiles(name);
  }

  /** Whether there are more files than rows, or may be. */
  async #isIncomplete({ uuid, stoppedAt, segments }: KeptRecording): Promise<boolean> {
    const { sql } = this.#deps;
    const files = new Set(await this.folder.listSegments(uuid));
    const missing = segments.map(({ index }) => index).filter((index) => !files.has(index));
    const forgotten = await forgetMissing(sql, uuid, missing);
    if (stoppedAt === null) return true;
    if (forgotten > 0) await closeRecording(sql, uuid, stoppedAt, "some of its files are missing");
    const known = new Set(segments.map(({ index }) => index));
    return [...files].some((index) => !known.has(index));
  }

  /** Files whose source no longer exists. In an external database the source may just be missing. */
  async #leaveUnknown(uuid: string, path: string | null): Promise<void> {
    const { log, config } = this.#deps;
    const isRemoved = config.database.url === null;
    if (isRemoved) await this.folder.remove(uuid);
    log.warn({ recording: uuid, path }, `recording without a source ${isRemoved ? "removed" : "found"}`);
  }

  async #attempt(act: () => Promise<void>, everyMs: number): Promise<number> {
    try {
      await act();
      return everyMs;
    } catch (error) {
      this.#deps.log.warn({ err: error }, "recordings could not be maintained; retrying");
      return Math.max(everyMs, RETRY_MS);
    }
  }
}

/** `ring`: only its last seconds are kept. Null: nothing is. */
function chooseKind(
  { mode, preRollSeconds, isAlerted, hasEvidence }: WantedRecording,
  isEnabled: boolean,
): "recording" | "ring" | null {
  if (isEnabled && (mode === "always" || (mode === "on_alert" && isAlerted))) return "recording";
  return hasEvidence || (isEnabled && preRollSeconds > 0) ? "ring" : null;
}
