/**
 * Writes to the database what the media hub reports about recordings: all that have changed in one statement, at once when
 * one begins or ends, otherwise every few seconds. While the database is unavailable only the last state of each changed
 * file is kept.
 */
import type { Logger } from "pino";
import type { RecordedSegment } from "../../../schemas/hub.ts";
import { BatchWriter } from "../../async/batch-writer.ts";
import type { Sql } from "../../store/client.ts";
import { findSubjects } from "../../store/hub-paths.ts";
import { type KeptRecording, reviseSegment, type SegmentRow, saveRecordings } from "../../store/recordings.ts";
import { newUuid } from "../../uuid.ts";
import type { RecordingSubject } from "../authorization.ts";

type Ending = { readonly stoppedAt: Date; readonly detail: string | null };

interface Entry {
  readonly uuid: string;
  /** Null: only files exist, the source is found by their path. */
  subject: Omit<RecordingSubject, "path"> | null;
  path: string | null;
  readonly namedMs: number;
  startedAtMs: number | null;
  /** Not written yet, by index. */
  readonly unwritten: Map<number, SegmentRow>;
  /** The newest file. */
  latest: SegmentRow | null;
  /** The database has a row of it. */
  isStored: boolean;
  /** The hub that wrote it has ended. */
  isLost: boolean;
  /** The last seconds of a stream that is not recorded. */
  isRing: boolean;
  /** Of a recording that had ended before more files of it were found. */
  readonly known: Ending | null;
  end: Ending | null;
}

interface WriterDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** No source has the path of this recording. */
  onUnknown(uuid: string, path: string | null): Promise<void>;
}

/** A publisher that was authorized and never sent a frame is not recorded. */
const UNUSED_MS = 600_000;
/** The hub has reported a recording by then: it starts with the first keyframe. */
const BEGIN_MS = 30_000;
const RETRY = { firstMs: 250, maxMs: 5_000 };
/** How often the growth of files is written: what a listing of a recording in progress may lag behind. */
const GROWTH_MS = 3_000;
/** In one statement. */
const MAX_WRITTEN = 200;

const isChanged = ({ unwritten, end }: Entry): boolean => unwritten.size > 0 || end !== null;
const isUrgent = ({ isStored, isLost, end }: Entry): boolean => !isStored || isLost || end !== null;
const isOpen = ({ isLost, end }: Entry): boolean => isLost && end === null;

export class RecordingWriter {
  readonly #deps: WriterDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #writer: BatchWriter<Entry>;
  #growthTimer: NodeJS.Timeout | undefined;
  /** Growth is to be written, too. */
  #isGrowthDue = false;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    const changed = (): Entry[] => [...this.#entries.values()].filter(isChanged);
    const isDue = (): boolean => this.#isGrowthDue || changed().some(isUrgent);
    this.#writer = new BatchWriter<Entry>({
      // An entry is a change until `#write` has cleared it.
      queue: {
        get isEmpty() {
          return !isDue() || changed().length === 0;
        },
        take: () => {
          const all = changed();
          this.#isGrowthDue = all.length > MAX_WRITTEN;
          return all.slice(0, MAX_WRITTEN);
        },
        putBack: () => {
          this.#isGrowthDue = true;
        },
      },
      retry: RETRY,
      write: (entries) => this.#write(entries),
      onRetry: (error) => deps.log.warn({ err: error }, "recording could not be written; retrying"),
      // Its user was deleted, with all recordings.
      onRejected: ({ uuid }) => void this.#entries.delete(uuid),
    });
  }

  /** The name of a recording that may start now. */
  name({ userUuid, sourceUuid, alias, path }: RecordingSubject, isRing = false): string {
    this.#forgetUnused();
    const uuid = newUuid();
    const nothing = { startedAtMs: null, latest: null, isStored: false, isLost: false, known: null };
    this.#add({ uuid, subject: { userUuid, sourceUuid, alias }, path, isRing, ...nothing });
    return uuid;
  }

  /** A recording that an earlier server did not complete, or with files that it did not write. */
  adopt({ uuid, userUuid, sourceUuid, alias, startedAt, stoppedAt, detail, segments, isRing }: KeptRecording): void {
    const latest = segments.at(-1) ?? null;
    const known = stoppedAt === null ? null : { stoppedAt, detail };
    const subject = { userUuid, sourceUuid, alias };
    const place = { subject, path: null, startedAtMs: startedAt.getTime(), isRing };
    this.#add({ uuid, ...place, latest, isStored: true, isLost: true, known });
  }

  /** A recording of which only files exist. */
  adoptFiles(uuid: string): void {
    const nothing = { startedAtMs: null, latest: null, isStored: false, known: null };
    this.#add({ uuid, subject: null, path: null, ...nothing, isLost: true, isRing: false });
  }

  /** Recordings whose files the next hub reports. */
  get unreported(): readonly string[] {
    return [...this.#entries.values()].filter(isOpen).map(({ uuid }) => uuid);
  }

  /** The hub records it, or is about to. */
  isRecorded(path: string): boolean {
    return this.current(path) !== null;
  }

  /** What the hub records, or is about to. */
  current(path: string): { readonly uuid: string; readonly isRing: boolean; readonly isStored: boolean } | null {
    const sinceMs = performance.now() - BEGIN_MS;
    const found = [...this.#entries.values()].find(
      (entry) =>
        entry.path === path &&
        entry.end === null &&
        !entry.isLost &&
        (entry.startedAtMs !== null || entry.namedMs > sinceMs),
    );
    return found ?? null;
  }

  /** A ring has become a recording. */
  onKept(uuid: string): void {
    const entry = this.#entries.get(uuid);
    if (entry !== undefined) entry.isRing = false;
  }

  update({ recording, path, index, startedAtMs, durationMs, bytes }: RecordedSegment): void {
    const entry = this.#entries.get(recording);
    const segment = { index, startedAtMs, durationMs, sizeBytes: bytes };
    if (entry === undefined) {
      // It has ended before; the hub could not complete this file then.
      reviseSegment(this.#deps.sql, recording, segment).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, recording }, "repaired recording could not be written"),
      );
      return;
    }
    entry.startedAtMs ??= startedAtMs;
    entry.path ??= path;
    if (entry.latest === null || entry.latest.index <= index) entry.latest = segment;
    entry.unwritten.set(index, segment);
    if (isUrgent(entry)) this.#writer.wake();
    // Also then: a write that has begun does not include it.
    this.#growthTimer ??= setTimeout(() => this.#writeGrowth(), GROWTH_MS).unref();
  }

  end(recording: string, stoppedAtMs: number, detail: string | null): void {
    const entry = this.#entries.get(recording);
    if (entry === undefined) return;
    const { known } = entry;
    if (known === null) entry.end = { stoppedAt: new Date(stoppedAtMs), detail };
    else entry.end = { ...known, stoppedAt: new Date(Math.max(stoppedAtMs, known.stoppedAt.getTime())) };
    this.#writer.wake();
  }

  /** The next hub repairs what it was writing, and reports it. */
  onHubLost(): void {
    for (const entry of this.#entries.values()) if (entry.end === null) entry.isLost = true;
  }

  /** All lost recordings were reported: they end now. */
  onRepaired(): void {
    for (const { uuid, latest, startedAtMs } of [...this.#entries.values()].filter(isOpen)) {
      const stoppedAtMs = latest === null ? (startedAtMs ?? Date.now()) : latest.startedAtMs + latest.durationMs;
      this.end(uuid, stoppedAtMs, "the media server was restarted");
    }
  }

  /** The next start recovers from the files what cannot be written now. */
  close(): Promise<void> {
    clearTimeout(this.#growthTimer);
    this.#isGrowthDue = true;
    return this.#writer.close();
  }

  #writeGrowth(): void {
    this.#growthTimer = undefined;
    this.#isGrowthDue = [...this.#entries.values()].some(isChanged);
    this.#writer.wake();
  }

  #add(entry: Omit<Entry, "namedMs" | "unwritten" | "end">): void {
    this.#entries.set(entry.uuid, { ...entry, namedMs: performance.now(), unwritten: new Map(), end: null });
  }

  #forgetUnused(): void {
    const beforeMs = performance.now() - UNUSED_MS;
    for (const { uuid, namedMs, startedAtMs, isLost } of this.#entries.values()) {
      if (namedMs > beforeMs) return;
      if (startedAtMs === null && !isLost) this.#entries.delete(uuid);
    }
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const { sql, nodeUuid } = this.#deps;
    await this.#findSubjects(entries.filter(({ subject, startedAtMs }) => subject === null && startedAtMs !== null));
    const written = entries.map((entry) => ({ entry, segments: [...entry.unwritten.values()], end: entry.end }));
    await saveRecordings(
      sql,
      nodeUuid,
      written.flatMap(({ entry: { uuid, subject, startedAtMs, isRing }, segments, end }) =>
        subject === null || startedAtMs === null
          ? []
          : [{ uuid, ...subject, startedAt: new Date(startedAtMs), segments, end, isRing }],
      ),
    );
    for (const { entry, segments, end } of written) {
      if (entry.startedAtMs !== null) entry.isStored = true;
      for (const segment of segments)
        if (entry.unwritten.get(segment.index) === segment) entry.unwritten.delete(segment.index);
      if (end !== null && entry.unwritten.size === 0) this.#entries.delete(entry.uuid);
    }
  }

  /** Of recordings of which only files exist. Those of unknown paths are forgotten. */
  async #findSubjects(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      entry.subject = await this.#findSubject(entry.path);
      if (entry.subject !== null) continue;
      this.#entries.delete(entry.uuid);
      await this.#deps.onUnknown(entry.uuid, entry.path);
    }
  }

  async #findSubject(path: string | null): Promise<Entry["subject"]> {
    if (path === null) return null;
    const [found] = await findSubjects(this.#deps.sql, [{ path, protocol: null }]);
    return found ?? null;
  }
}
