/**
 * The recording of a process: attached while its key has it and there is room for it. A new file each time, and whenever
 * one has become long enough, so that the oldest can go while it runs.
 */
import type { Logger } from "pino";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";

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
}

/** How it gets on, as long as the process is active. */
export interface RecordingState {
  readonly isRecording: boolean;
  /** Why not. */
  readonly detail: string | null;
  /** In this run: they came faster than they could be encoded. */
  readonly framesDropped: number;
}

const NO_ROOM = "the disk is nearly full";

export class Recorder {
  readonly #needs: RecorderNeeds;
  #prepared: Attachment | null = null;
  /** What is being written. */
  #current: { readonly name: string; readonly sinceMs: number } | null = null;
  /** What should have been ended. */
  #leaving: string | null = null;
  #detail: string | null = null;
  /** In this run, by the name of the attachment; and those of files that have ended. */
  readonly #dropped = new Map<string, number>();
  #droppedBefore = 0;

  constructor(needs: RecorderNeeds) {
    this.#needs = needs;
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

  hear({ attachment, framesDropped }: Report): void {
    if (attachment === this.#current?.name || attachment === this.#leaving)
      this.#dropped.set(attachment, framesDropped);
  }

  /** Ends it where there is no more room, begins again when there is, and begins the next file when it is time to. */
  async tend(): Promise<void> {
    const { isOffered, segmentMs, hasRoom, isFlowing, log } = this.#needs;
    if (!isOffered) return;
    if (this.#leaving !== null) await this.#end(this.#leaving);
    const current = this.#current;
    if (!hasRoom()) {
      this.#detail = NO_ROOM;
      if (current === null) return;
      log.warn("its recording ends: there is no room for it");
      this.#current = null;
      await this.#end(current.name);
    } else if (!isFlowing()) return;
    else if (current === null) await this.#start(RECORDING);
    else if (performance.now() - current.sinceMs >= segmentMs) {
      // Both for a moment: so that no frame is between them.
      await this.#start(current.name === NAMES[0] ? NAMES[1] : NAMES[0]);
      if (this.#current !== current) await this.#end(current.name);
    }
  }

  async #start(name: string): Promise<void> {
    const attachment = await this.#makeAttachment(name);
    if (attachment === null) return;
    await this.#needs.attach(attachment);
    this.#note(name);
  }

  async #end(name: string): Promise<void> {
    this.#leaving = name;
    await this.#needs.detach(name);
    this.#leaving = null;
    this.#droppedBefore += this.#dropped.get(name) ?? 0;
    this.#dropped.delete(name);
  }

  #note(name: string): void {
    this.#current = { name, sinceMs: performance.now() };
    this.#detail = null;
  }

  #forget(): void {
    this.#prepared = null;
    this.#current = null;
    this.#leaving = null;
    this.#dropped.clear();
    this.#droppedBefore = 0;
  }

  async #makeAttachment(name: string): Promise<Attachment | null> {
    try {
      return { id: name, slot: RECORDING, params: { path: await this.#needs.nextFile() } };
    } catch (error) {
      this.#needs.log.warn({ err: error }, "it cannot be recorded");
      this.#detail = "no file can be made for it";
      return null;
    }
  }
}
