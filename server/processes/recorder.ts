/**
 * The recording of a process: attached while its key has it and there is room for it. A new file each time, and whenever
 * one has become long enough, so that the oldest can go while it runs.
 */
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import { backoff } from "../async/timing.ts";

type Attachment = RunnerJob["attach"][number];
type Report = RunnerMessage & { type: "attachment" };

/** The slot. */
export const RECORDING = "recording";
/** The names that it is attached under, by turns: the next file begins before the last one ends. */
const NAMES = [RECORDING, `${RECORDING}-next`] as const;

export interface RecorderNeeds {
  readonly log: Logger;
  /** Its key has it, and its graph offers it. */
  readonly isOffered: boolean;
  /** Of one file. */
  readonly segmentMs: number;
  hasRoom(): boolean;
  /** It is not paused: nothing begins while nothing comes. */
  isFlowing(): boolean;
  /** The path of a file that is not there yet. */
  nextFile(): Promise<string>;
  attach(attachment: Attachment): Promise<void>;
  detach(attachment: string): Promise<void>;
  now?(): number;
}

/** How it gets on, as long as the process is active. */
export interface RecordingState {
  readonly isRecording: boolean;
  /** Why not. */
  readonly detail: string | null;
  /** In this run: they came faster than they could be encoded. */
  readonly framesDropped: number;
}

/** A file that could not be begun or written to is followed by another so much later, and rarer and rarer. */
const AGAIN = { firstMs: 5_000, maxMs: 300_000 };

const NO_ROOM = "the disk is nearly full";

export class Recorder {
  readonly #needs: RecorderNeeds;
  #prepared: Attachment | null = null;
  /** What is being written. */
  #current: { readonly name: string; readonly sinceMs: number } | null = null;
  /** What should have been ended. */
  readonly #leaving = new Set<string>();
  #detail: string | null = null;
  readonly #now: () => number;
  /** In a row, also of runs before this one. */
  #failures = 0;
  #notBeforeMs = 0;
  /** In this run, by the name of the attachment; and those of files that have ended. */
  readonly #dropped = new Map<string, number>();
  #droppedBefore = 0;

  constructor(needs: RecorderNeeds) {
    this.#needs = needs;
    this.#now = needs.now ?? (() => performance.now());
  }

  /** Null of one that is not to be recorded. */
  get state(): RecordingState | null {
    if (!this.#needs.isOffered) return null;
    const now = [...this.#dropped.values()].reduce((sum, count) => sum + count, 0);
    return {
      isRecording: this.#current !== null,
      detail: this.#current === null ? this.#detail : null,
      framesDropped: this.#droppedBefore + now,
    };
  }

  /** For a run that is about to begin. Never rejects: a process that cannot be recorded runs all the same. */
  async prepare(): Promise<void> {
    this.#prepared = null;
    if (!this.#needs.isOffered) return;
    if (this.#now() < this.#notBeforeMs) return;
    if (this.#needs.hasRoom()) this.#prepared = await this.#makeAttachment(RECORDING);
    else this.#detail = NO_ROOM;
  }

  /** What a run begins with. */
  begin(): readonly Attachment[] {
    const attachment = this.#prepared;
    this.#forget();
    if (attachment !== null) this.#note(attachment.id);
    return attachment === null ? [] : [attachment];
  }

  endRun(): void {
    this.#forget();
  }

  hear({ attachment, framesDropped, status, detail }: Report): void {
    const current = this.#current;
    if (attachment === current?.name || this.#leaving.has(attachment)) this.#dropped.set(attachment, framesDropped);
    if (status !== "failed" || attachment !== current?.name) return;
    this.#current = null;
    this.#leaving.add(attachment);
    if (this.#now() - current.sinceMs > AGAIN.maxMs) this.#failures = 0;
    this.#fail(detail ?? "its file cannot be written", null);
  }

  /** Ends it where there is no more room, begins again when there is, and begins the next file when it is time to. */
  async tend(): Promise<void> {
    const { isOffered, segmentMs, hasRoom, isFlowing, log } = this.#needs;
    if (!isOffered) return;
    for (const name of [...this.#leaving]) await this.#end(name);
    const current = this.#current;
    if (!hasRoom()) {
      this.#detail = NO_ROOM;
      if (current === null) return;
      log.warn("its recording ends: there is no room for it");
      this.#current = null;
      await this.#end(current.name);
    } else if (!isFlowing()) return;
    else if (this.#now() < this.#notBeforeMs) return;
    else if (current === null) await this.#start(RECORDING);
    else if (this.#now() - current.sinceMs >= segmentMs) {
      // Both for a moment: so that no frame is between them.
      await this.#start(current.name === NAMES[0] ? NAMES[1] : NAMES[0]);
      if (this.#current !== current) await this.#end(current.name);
    }
  }

  async #start(name: string): Promise<void> {
    const attachment = await this.#makeAttachment(name);
    if (attachment === null) return;
    try {
      await this.#needs.attach(attachment);
    } catch (error) {
      this.#fail((error as Error).message, error);
      return;
    }
    this.#note(name);
  }

  async #end(name: string): Promise<void> {
    this.#leaving.add(name);
    await this.#needs.detach(name);
    this.#leaving.delete(name);
    this.#droppedBefore += this.#dropped.get(name) ?? 0;
    this.#dropped.delete(name);
  }

  #note(name: string): void {
    this.#current = { name, sinceMs: this.#now() };
    this.#detail = null;
  }

  #fail(reason: string, err: unknown): void {
    this.#failures += 1;
    const waitMs = backoff(this.#failures, AGAIN);
    this.#notBeforeMs = this.#now() + waitMs;
    this.#detail = `it could not be written: ${maskCredentials(reason)}; it is tried again`;
    this.#needs.log.warn({ err, reason: this.#detail, waitMs: Math.round(waitMs) }, "it is not recorded");
  }

  #forget(): void {
    this.#prepared = null;
    this.#current = null;
    this.#leaving.clear();
    this.#dropped.clear();
    this.#droppedBefore = 0;
  }

  async #makeAttachment(name: string): Promise<Attachment | null> {
    try {
      // The process is worth more than its recording.
      return { id: name, slot: RECORDING, params: { path: await this.#needs.nextFile() }, isExpendable: true };
    } catch (error) {
      // Its message names folders of this machine.
      const { code = "unknown" } = error as { code?: string };
      this.#fail(`no file can be made for it (${code})`, error);
      return null;
    }
  }
}
