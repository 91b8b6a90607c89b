/**
 * What the media hub tells of recordings, written down. While the database is away it waits here, which is little: the
 * last state of every file that has changed since.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { RecordedSegment } from "../../../schemas/hub.ts";
import type { Sql } from "../../store/client.ts";
import { findSubjects } from "../../store/recording-subjects.ts";
import type { KeptRecording } from "../../store/recording-upkeep.ts";
import { reviseSegment, type SegmentRow, saveRecording } from "../../store/recordings.ts";
import { newUuid } from "../../uuid.ts";
import type { RecordingSubject } from "../admission.ts";

type Ending = { readonly stoppedAt: Date; readonly detail: string | null };

interface Entry {
  readonly uuid: string;
  /** Null of one whose files alone are there: what was published at their path. */
  subject: Omit<RecordingSubject, "path"> | null;
  path: string | null;
  readonly namedMs: number;
  startedAtMs: number | null;
  /** Not written down yet, by index. */
  readonly unwritten: Map<number, SegmentRow>;
  /** The newest file. */
  latest: SegmentRow | null;
  /** The hub that was writing it is gone. */
  isLost: boolean;
  /** How it ended, of one that had ended before: files of it have come to light since. */
  readonly known: Ending | null;
  end: Ending | null;
}

interface LedgerParts {
  readonly sql: Sql;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Nobody publishes what it is a recording of any more. */
  onUnknown(uuid: string, path: string | null): Promise<void>;
}

/** A publisher that was let in and never sent a picture is not recorded. */
const UNUSED_MS = 600_000;
/** One that is being made has been told of by then: the first key picture was there before it began. */
const BEGIN_MS = 30_000;
const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 5_000;
const FOREIGN_KEY_VIOLATION = "23503";

export class RecordingLedger {
  readonly #parts: LedgerParts;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();
  #writing: Promise<void> | null = null;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Of one that may begin now. */
  name(subject: RecordingSubject): string {
    this.#forgetUnused();
    const uuid = newUuid();
    this.#add({ uuid, subject, path: subject.path, startedAtMs: null, latest: null, isLost: false, known: null });
    return uuid;
  }

  /** One that an earlier server did not bring to an end, or of which there are files that it did not write down. */
  adopt({ uuid, userUuid, sourceUuid, alias, startedAt, stoppedAt, detail, segments }: KeptRecording): void {
    const latest = segments.at(-1) ?? null;
    const known = stoppedAt === null ? null : { stoppedAt, detail };
    const subject = { userUuid, sourceUuid, alias };
    this.#add({ uuid, subject, path: null, startedAtMs: startedAt.getTime(), latest, isLost: true, known });
  }

  /** One of which there are files and nothing else. */
  adoptFiles(uuid: string): void {
    this.#add({ uuid, subject: null, path: null, startedAtMs: null, latest: null, isLost: true, known: null });
  }

  /** Those that the next hub is to tell of. */
  get untold(): readonly string[] {
    return [...this.#entries.values()].filter(({ isLost, end }) => isLost && end === null).map(({ uuid }) => uuid);
  }

  /** The hub is recording it, or is about to. */
  isRecorded(path: string): boolean {
    const sinceMs = performance.now() - BEGIN_MS;
    return [...this.#entries.values()].some(
      (entry) =>
        entry.path === path &&
        entry.end === null &&
        !entry.isLost &&
        (entry.startedAtMs !== null || entry.namedMs > sinceMs),
    );
  }

  /** Being written now. */
  get openCount(): number {
    return [...this.#entries.values()].filter(({ latest, end }) => latest !== null && end === null).length;
  }

  note({ recording, path, index, startedAtMs, durationMs, bytes }: RecordedSegment): void {
    const entry = this.#entries.get(recording);
    const segment = { index, startedAtMs, durationMs, sizeBytes: bytes };
    if (entry === undefined) {
      this.#revise(recording, segment);
      return;
    }
    entry.startedAtMs ??= startedAtMs;
    entry.path ??= path;
    if (entry.latest === null || entry.latest.index <= index) entry.latest = segment;
    entry.unwritten.set(index, segment);
    this.#write();
  }

  conclude(recording: string, stoppedAtMs: number, detail: string | null): void {
    const entry = this.#entries.get(recording);
    if (entry === undefined) return;
    const { known } = entry;
    if (known === null) entry.end = { stoppedAt: new Date(stoppedAtMs), detail };
    else entry.end = { ...known, stoppedAt: new Date(Math.max(stoppedAtMs, known.stoppedAt.getTime())) };
    this.#write();
  }

  /** The next one repairs what it was writing, and tells how much there is. */
  loseHub(): void {
    for (const entry of this.#entries.values()) if (entry.end === null) entry.isLost = true;
  }

  /** Nothing more comes of those that were lost. */
  settle(): void {
    const lost = [...this.#entries.values()].filter(({ isLost, end }) => isLost && end === null);
    for (const { uuid, latest, startedAtMs } of lost) {
      const stoppedAtMs = latest === null ? (startedAtMs ?? Date.now()) : latest.startedAtMs + latest.durationMs;
      this.conclude(uuid, stoppedAtMs, "the media server was restarted");
    }
  }

  /** Writes what it can; what it cannot the next start finds out from the files. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
  }

  /** It has ended before: the hub could not finish its file then. */
  #revise(recording: string, segment: SegmentRow): void {
    reviseSegment(this.#parts.sql, recording, segment).catch((error: unknown) =>
      this.#parts.log.warn({ err: error, recording }, "a repaired recording could not be written down"),
    );
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

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
  }

  async #writeAll(): Promise<void> {
    let pauseMs = RETRY_FIRST_MS;
    for (;;) {
      const entry = [...this.#entries.values()].find(({ unwritten, end }) => unwritten.size > 0 || end !== null);
      if (entry === undefined) return;
      try {
        await this.#writeOne(entry);
        pauseMs = RETRY_FIRST_MS;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#parts.log.warn({ err: error }, "a recording could not be written down; it is tried again");
        await wait(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: this.#closing.signal }).catch(() => {});
        pauseMs = Math.min(pauseMs * 2, RETRY_MOST_MS);
      }
    }
  }

  async #writeOne(entry: Entry): Promise<void> {
    const { uuid, startedAtMs, end } = entry;
    const segments = [...entry.unwritten.values()];
    if (startedAtMs !== null) {
      const { sql, nodeUuid, onUnknown } = this.#parts;
      entry.subject ??= await this.#findSubject(entry.path);
      const { subject } = entry;
      if (subject === null) {
        this.#entries.delete(uuid);
        await onUnknown(uuid, entry.path);
        return;
      }
      try {
        await saveRecording(sql, { uuid, ...subject, nodeUuid, startedAt: new Date(startedAtMs), segments, end });
      } catch (error) {
        // Its user is gone: so are all recordings.
        if ((error as { code?: string }).code !== FOREIGN_KEY_VIOLATION) throw error;
        this.#entries.delete(uuid);
      }
    }
    for (const segment of segments)
      if (entry.unwritten.get(segment.index) === segment) entry.unwritten.delete(segment.index);
    if (end !== null && entry.unwritten.size === 0) this.#entries.delete(uuid);
  }

  async #findSubject(path: string | null): Promise<Entry["subject"]> {
    if (path === null) return null;
    const [found] = await findSubjects(this.#parts.sql, [{ path, protocol: null }]);
    return found ?? null;
  }
}
