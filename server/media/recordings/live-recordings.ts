/**
 * Streams that are live and not recorded, though they should be: there was no room when they began or went on, or the
 * disk refused what was written. Each is recorded again from now on, as another recording.
 */
import type { Logger } from "pino";
import type { StreamInfo } from "../../../schemas/hub.ts";
import { backoff } from "../../async/timing.ts";
import type { Sql } from "../../store/client.ts";
import { findSubjects, type PathSubject } from "../../store/recording-subjects.ts";

/** The media hub. */
export interface LiveRecorder {
  readonly livePaths: readonly string[];
  /** Something of ours publishes there: that is not recorded. */
  isOwn(path: string): boolean;
  find(path: string): StreamInfo | null;
  record(path: string, recording: string): void;
}

interface LiveNeeds {
  readonly sql: Sql;
  readonly log: Logger;
  isRecorded(path: string): boolean;
  /** Null when nothing may be recorded. */
  name(subject: PathSubject): string | null;
}

interface Attempts {
  readonly count: number;
  readonly notBeforeMs: number;
}

/** One whose recording fails again and again is tried more and more rarely. */
const PAUSES = { firstMs: 1_000, maxMs: 60_000 };
/** So often at most it is found out again that a path is not a source's: those of outputs are not. */
const OTHERS_MS = 10_000;

export class LiveRecordings {
  readonly #needs: LiveNeeds;
  #recorder: LiveRecorder | null = null;
  #attempts = new Map<string, Attempts>();

  constructor(needs: LiveNeeds) {
    this.#needs = needs;
  }

  follow(recorder: LiveRecorder): void {
    this.#recorder = recorder;
  }

  /** What failed may succeed now. */
  forgive(): void {
    this.#attempts.clear();
  }

  async look(): Promise<void> {
    const recorder = this.#recorder;
    if (recorder === null) return;
    const paths = new Set(recorder.livePaths.filter((path) => !recorder.isOwn(path)));
    for (const path of this.#attempts.keys()) if (!paths.has(path)) this.#attempts.delete(path);
    const nowMs = performance.now();
    const idle = [...paths].filter((path) => this.#isDue(path, nowMs));
    if (idle.length === 0) return;
    const streams = idle.map((path) => ({ path, protocol: recorder.find(path)?.protocol ?? null }));
    const subjects = await findSubjects(this.#needs.sql, streams);
    for (const path of idle)
      this.#attempts.set(path, { count: this.#countOf(path, nowMs), notBeforeMs: nowMs + OTHERS_MS });
    for (const subject of subjects) this.#begin(recorder, subject);
  }

  #isDue(path: string, nowMs: number): boolean {
    return !this.#needs.isRecorded(path) && (this.#attempts.get(path)?.notBeforeMs ?? 0) <= nowMs;
  }

  /** Of attempts that failed soon one after the other. */
  #countOf(path: string, nowMs: number): number {
    const { count, notBeforeMs } = this.#attempts.get(path) ?? { count: 0, notBeforeMs: nowMs };
    return nowMs - notBeforeMs > PAUSES.maxMs ? 0 : count;
  }

  #begin(recorder: LiveRecorder, subject: PathSubject): void {
    const { path } = subject;
    // It may have begun, or ended, while it was looked up.
    if (this.#needs.isRecorded(path) || recorder.find(path) === null) return;
    const recording = this.#needs.name(subject);
    if (recording === null) return;
    const count = (this.#attempts.get(path)?.count ?? 0) + 1;
    const notBeforeMs = performance.now() + backoff(count, PAUSES);
    this.#attempts.set(path, { count, notBeforeMs });
    this.#needs.log.info({ path, recording }, "a stream that is live is recorded from now on");
    recorder.record(path, recording);
  }
}
