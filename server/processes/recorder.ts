/** The recording of a process: attached while its key has it and there is room for it, a new file each time. */
import type { Logger } from "pino";
import type { RunnerJob } from "../../schemas/runner.ts";

type Attachment = RunnerJob["attach"][number];

/** The slot, and the name that it is attached under. */
export const RECORDING = "recording";

export interface RecorderNeeds {
  readonly log: Logger;
  /** Its key has it, its graph offers it, and there is room. */
  isWanted(): boolean;
  /** The path of a file that is not there yet. */
  nextFile(): Promise<string>;
  attach(attachment: Attachment): Promise<void>;
  detach(attachment: string): Promise<void>;
}

export class Recorder {
  readonly #needs: RecorderNeeds;
  #prepared: Attachment | null = null;
  #isAttached = false;

  constructor(needs: RecorderNeeds) {
    this.#needs = needs;
  }

  /** For a run that is about to begin. Never rejects: a process that cannot be recorded runs all the same. */
  async prepare(): Promise<void> {
    this.#prepared = null;
    if (this.#needs.isWanted()) this.#prepared = await this.#makeAttachment();
  }

  /** What a run begins with. */
  begin(): readonly Attachment[] {
    const attachment = this.#prepared;
    this.#prepared = null;
    this.#isAttached = attachment !== null;
    return attachment === null ? [] : [attachment];
  }

  endRun(): void {
    this.#prepared = null;
    this.#isAttached = false;
  }

  /** Ends it where there is no more room, and begins again when there is. */
  async tend(): Promise<void> {
    const { isWanted, attach, detach, log } = this.#needs;
    if (this.#isAttached === isWanted()) return;
    if (this.#isAttached) {
      log.warn("its recording ends: there is no room for it");
      await detach(RECORDING);
      this.#isAttached = false;
      return;
    }
    const attachment = await this.#makeAttachment();
    if (attachment === null) return;
    await attach(attachment);
    this.#isAttached = true;
  }

  async #makeAttachment(): Promise<Attachment | null> {
    try {
      return { id: RECORDING, slot: RECORDING, params: { path: await this.#needs.nextFile() } };
    } catch (error) {
      this.#needs.log.warn({ err: error }, "it cannot be recorded");
      return null;
    }
  }
}
