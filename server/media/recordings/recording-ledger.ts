/**
 * What the media hub tells of recordings, written down. While the database is away it waits here, which is little: the
 * last state of every file that has changed since.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { RecordedSegment } from "../../../schemas/hub.ts";
import type { Sql } from "../../store/client.ts";
import { type SegmentRow, saveRecording } from "../../store/recordings.ts";
import { newUuid } from "../../uuid.ts";
import type { RecordingSubject } from "../admission.ts";
import type { RecordingFolder } from "./recording-folder.ts";

interface Entry {
  readonly uuid: string;
  readonly subject: RecordingSubject;
  readonly namedMs: number;
  startedAtMs: number | null;
  /** Not written down yet, by index. */
  readonly unwritten: Map<number, SegmentRow>;
  /** The newest file. */
  latest: SegmentRow | null;
  end: { readonly stoppedAt: Date; readonly detail: string | null } | null;
}

interface LedgerParts {
  readonly sql: Sql;
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly folder: RecordingFolder;
}

/** A publisher that was let in and never sent a picture is not recorded. */
const UNUSED_MS = 600_000;
const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 5_000;
const FOREIGN_KEY_VIOLATION = "23503";

export class RecordingLedger {
  readonly #parts: LedgerParts;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();
  #writing: Promise<void> | null = null;
  #salvaging: Promise<unknown> = Promise.resolve();

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Of one that may begin now. */
  name(subject: RecordingSubject): string {
    this.#forgetUnused();
    const uuid = newUuid();
    const empty = { startedAtMs: null, unwritten: new Map(), latest: null, end: null };
    this.#entries.set(uuid, { uuid, subject, namedMs: performance.now(), ...empty });
    return uuid;
  }

  /** Being written now. */
  get openCount(): number {
    return [...this.#entries.values()].filter(({ latest, end }) => latest !== null && end === null).length;
  }

  note({ recording, index, startedAtMs, durationMs, bytes }: RecordedSegment): void {
    const entry = this.#entries.get(recording);
    if (entry === undefined) {
      this.#parts.log.warn({ recording }, "the media hub records what nobody asked for");
      return;
    }
    entry.startedAtMs ??= startedAtMs;
    entry.latest = { index, startedAtMs, durationMs, sizeBytes: bytes };
    entry.unwritten.set(index, entry.latest);
    this.#write();
  }

  conclude(recording: string, stoppedAtMs: number, detail: string | null): void {
    const entry = this.#entries.get(recording);
    if (entry === undefined) return;
    entry.end = { stoppedAt: new Date(stoppedAtMs), detail };
    this.#write();
  }

  /** Its files may hold a little more than it could tell. */
  loseHub(): void {
    const open = [...this.#entries.values()].filter(({ end }) => end === null);
    this.#salvaging = Promise.all([this.#salvaging, ...open.map((entry) => this.#salvage(entry))]);
  }

  /** Writes what it can; what it cannot the next start finds out from the files. */
  async close(): Promise<void> {
    await this.#salvaging;
    this.#closing.abort();
    await this.#writing;
  }

  async #salvage(entry: Entry): Promise<void> {
    const { folder, log } = this.#parts;
    let stoppedAtMs = Date.now();
    try {
      const files = await folder.salvage(entry.uuid);
      for (const { index, bytes, durationMs, endedAtMs } of files) {
        const known = entry.unwritten.get(index) ?? (entry.latest?.index === index ? entry.latest : null);
        // What was told of it and is no longer than that stays as it was told.
        if (known === null && entry.latest !== null && index < entry.latest.index) continue;
        const startedAtMs = known?.startedAtMs ?? endedAtMs - durationMs;
        entry.startedAtMs ??= startedAtMs;
        entry.unwritten.set(index, { index, startedAtMs, durationMs, sizeBytes: bytes });
        stoppedAtMs = startedAtMs + durationMs;
      }
    } catch (error) {
      log.warn({ err: error, recording: entry.uuid }, "the files of a recording could not be looked at");
    }
    this.conclude(entry.uuid, stoppedAtMs, "the media hub ended unexpectedly");
  }

  #forgetUnused(): void {
    const beforeMs = performance.now() - UNUSED_MS;
    for (const { uuid, namedMs, startedAtMs } of this.#entries.values()) {
      if (namedMs > beforeMs) return;
      if (startedAtMs === null) this.#entries.delete(uuid);
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
    const { uuid, subject, startedAtMs, end } = entry;
    const segments = [...entry.unwritten.values()];
    if (startedAtMs !== null) {
      const { sql, nodeUuid } = this.#parts;
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
}
