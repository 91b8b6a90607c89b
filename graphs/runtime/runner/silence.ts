/**
 * Silences a runner whose node may have lost its process: its external attachments are detached when the lease ends, and
 * attached again when it is renewed. By the clock of the machine, so that it also works while the server hangs.
 */
import { monotonicMs } from "../../../ipc/monotonic.ts";
import type { RunnerJob } from "../../../schemas/runner.ts";

export type ExternalAttachment = RunnerJob["attach"][number];

export class Silence {
  readonly #change: (isSilent: boolean) => void;
  /** To be attached again. */
  readonly detached = new Map<string, ExternalAttachment>();
  #timer: NodeJS.Timeout | undefined;
  #isSilent = false;

  /** `change` is called whenever the lease has ended, or is valid again. */
  constructor(change: (isSilent: boolean) => void) {
    this.#change = change;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** By `monotonicMs()`. */
  extend(untilMs: number): void {
    clearTimeout(this.#timer);
    const leftMs = untilMs - monotonicMs();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#set(true), leftMs);
    this.#set(leftMs <= 0);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #set(isSilent: boolean): void {
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    this.#change(isSilent);
  }
}
