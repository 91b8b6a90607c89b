/**
 * Records a process while its key has recording and the disk has space. A new file begins with every runner, and whenever
 * one is long enough, so that the oldest can be deleted while the process runs.
 */
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import { backoff } from "../async/timing.ts";
import type { StateMachine } from "./lifecycle.ts";
import type { Attachment, AttachmentReport, RunnerLink } from "./runner.ts";
import { RECORDING } from "./runner-folders.ts";

/** The ids it is attached under, in alternation: the next file begins before the previous one ends. */
const IDS = [RECORDING, `${RECORDING}-next`] as const;

/** Where recordings are stored. */
export interface RecordingPlace {
  /** There is space for them. */
  isAllowed(): boolean;
  /** The user wants this process to be recorded now. Default: yes. */
  isWanted?(processUuid: string): boolean;
  /** Of one file. */
  readonly segmentMs: number;
  /** The path of a new file. */
  nextFile(processUuid: string): Promise<string>;
}

interface RecorderDeps {
  readonly processUuid: string;
  readonly log: Logger;
  readonly recordings: RecordingPlace;
  /** No file begins while it is paused. */
  readonly machine: Pick<StateMachine, "state">;
  readonly link: Pick<RunnerLink, "attach" | "detach">;
  now?(): number;
}

export interface RecordingState {
  readonly isRecording: boolean;
  /** Why it is not recorded. */
  readonly detail: string | null;
  /** By the current runner: frames arrived faster than they could be encoded. */
  readonly framesDropped: number;
}

const RETRY = { firstMs: 5_000, maxMs: 300_000 };

const NO_SPACE = "the disk is nearly full";
const UNWANTED = "recording is switched off";

export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #now: () => number;
  #prepared: Attachment | null = null;
  /** The file that is being written. */
  #current: { readonly id: string; readonly sinceMs: number } | null = null;
  /** Attachments to be detached. */
  readonly #ending = new Set<string>();
  #detail: string | null = null;
  /** In a row, over several runners. */
  #failures = 0;
  #notBeforeMs = 0;
  /** By attachment, of the current runner; then the sum of files that have ended. */
  readonly #dropped = new Map<string, number>();
  #droppedBefore = 0;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  get state(): RecordingState {
    const dropped = [...this.#dropped.values()].reduce((sum, count) => sum + count, this.#droppedBefore);
    const isRecording = this.#current !== null;
    return { isRecording, detail: isRecording ? null : this.#detail, framesDropped: dropped };
  }

  /** Before a launch. Never rejects: a process that cannot be recorded runs all the same. */
  async prepare(): Promise<void> {
    this.#prepared = null;
    if (this.#now() < this.#notBeforeMs) return;
    this.#detail = this.#whyNot;
    if (this.#detail === null) this.#prepared = await this.#newAttachment(RECORDING);
  }

  /** For the job of a new runner. */
  beginRun(): readonly Attachment[] {
    const attachment = this.#prepared;
    this.endRun();
    if (attachment === null) return [];
    this.#begin(attachment.id);
    return [attachment];
  }

  endRun(): void {
    this.#prepared = null;
    this.#current = null;
    this.#ending.clear();
    this.#dropped.clear();
    this.#droppedBefore = 0;
  }

  handle({ attachment, framesDropped, status, detail }: AttachmentReport): void {
    const current = this.#current;
    if (attachment === current?.id || this.#ending.has(attachment)) this.#dropped.set(attachment, framesDropped);
    if (status !== "failed" || attachment !== current?.id) return;
    this.#current = null;
    this.#ending.add(attachment);
    if (this.#now() - current.sinceMs > RETRY.maxMs) this.#failures = 0;
    this.#fail(detail ?? "its file cannot be written", null);
  }

  /** Ends the recording when space runs out, begins it again when there is space, and begins the next file in time. */
  async tend(): Promise<void> {
    const { recordings, machine, log } = this.#deps;
    for (const id of [...this.#ending]) await this.#end(id);
    const current = this.#current;
    const reason = this.#whyNot;
    if (reason !== null) {
      this.#detail = reason;
      if (current === null) return;
      log.warn({ reason }, "recording ended");
      this.#current = null;
      return this.#end(current.id);
    }
    if (machine.state !== "running" || this.#now() < this.#notBeforeMs) return;
    if (current === null) return this.#start(RECORDING);
    if (this.#now() - current.sinceMs < recordings.segmentMs) return;
    // Both for a moment, so that no frame is missing between them.
    await this.#start(current.id === IDS[0] ? IDS[1] : IDS[0]);
    if (this.#current !== current) await this.#end(current.id);
  }

  get #whyNot(): string | null {
    const { recordings, processUuid } = this.#deps;
    if (recordings.isWanted?.(processUuid) === false) return UNWANTED;
    return recordings.isAllowed() ? null : NO_SPACE;
  }

  async #start(id: string): Promise<void> {
    const attachment = await this.#newAttachment(id);
    if (attachment === null) return;
    try {
      await this.#deps.link.attach(attachment);
    } catch (error) {
      return this.#fail((error as Error).message, error);
    }
    this.#begin(id);
  }

  async #end(id: string): Promise<void> {
    this.#ending.add(id);
    await this.#deps.link.detach(id);
    this.#ending.delete(id);
    this.#droppedBefore += this.#dropped.get(id) ?? 0;
    this.#dropped.delete(id);
  }

  #begin(id: string): void {
    this.#current = { id, sinceMs: this.#now() };
    this.#detail = null;
  }

  #fail(reason: string, err: unknown): void {
    this.#failures += 1;
    const waitMs = backoff(this.#failures, RETRY);
    this.#notBeforeMs = this.#now() + waitMs;
    this.#detail = `it could not be written: ${maskCredentials(reason)}; it will be retried`;
    this.#deps.log.warn({ err, reason: this.#detail, waitMs: Math.round(waitMs) }, "recording failed");
  }

  async #newAttachment(id: string): Promise<Attachment | null> {
    const { recordings, processUuid } = this.#deps;
    try {
      // Expendable: a fault of the recording must not end the process.
      return { id, slot: RECORDING, params: { path: await recordings.nextFile(processUuid) }, isExpendable: true };
    } catch (error) {
      // Its message names folders of this machine.
      const { code = "unknown" } = error as { code?: string };
      this.#fail(`no file can be created for it (${code})`, error);
      return null;
    }
  }
}
