/**
 * The child that looks at pictures, as the server sees it. It ends with us and keeps nothing: whatever happens to it, the
 * next one goes on. Owner: the job that started it.
 */
import type { ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import { Deadline } from "../../ipc/deadline.ts";
import {
  ENHANCE_PROTOCOL,
  type EnhancedTrack,
  EnhanceMessage,
  type EnhanceRequest,
  type TrackToEnhance,
} from "../../schemas/enhancement.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { awaitExit } from "../processes/disposable-child.ts";
import { RunnerOutput } from "../processes/runner-output.ts";
import { watchUsage } from "../processes/watch-usage.ts";
import { checkBy } from "../validation.ts";

/** It cannot be started, or is gone: the message says why. */
export class EnhancerFault extends Error {
  override readonly name = "EnhancerFault";
}

export interface EnhancerParts {
  readonly entry: URL;
  readonly confinement: Confinement;
  readonly log: Logger;
  /** To `ready`. */
  readonly loadMs: number;
  /** One track may take so long. */
  readonly trackMs: number;
  readonly memoryBytes: number;
}

const check = checkBy(EnhanceMessage);

export class EnhancerProcess {
  /** Rejects with `EnhancerFault`. */
  readonly ready: Promise<void>;
  /** Resolves with why once it is gone; never rejects. */
  readonly gone: Promise<string>;
  readonly #parts: EnhancerParts;
  readonly #child: ChildProcess;
  readonly #output: RunnerOutput;
  #reason: string | null = null;
  #watchdog: Deadline | null;
  #hearTrack: (track: EnhancedTrack) => void = () => {};
  #hearReady: () => void = () => {};
  #isGone = false;

  constructor(parts: EnhancerParts) {
    const { entry, confinement, log, loadMs, memoryBytes } = parts;
    this.#parts = parts;
    this.#child = confinement.spawn({ entry, memoryBytes, hasChannel: true });
    this.#output = new RunnerOutput((line) => log.debug({ enhancer: this.pid }, line));
    for (const stream of [this.#child.stdout, this.#child.stderr]) if (stream !== null) this.#output.drain(stream);
    this.#watchdog = new Deadline(loadMs, () => this.kill(`it was not loaded within ${loadMs / 1000} s`));
    this.gone = this.#awaitExit();
    const watch = watchUsage(this.#child, memoryBytes, (reason) => this.kill(reason));
    void this.gone.then(() => watch.close());
    this.ready = new Promise((resolve, reject) => {
      this.#hearReady = resolve;
      void this.gone.then((why) => reject(new EnhancerFault(why)));
    });
    this.ready.catch(() => {});
    this.#child.on("message", (said) => this.#hear(said));
  }

  /** Undefined when it could not even be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The last lines it wrote, for the log. */
  get lastLines(): readonly string[] {
    return this.#output.tail();
  }

  /** Resolves when all are done. Rejects with `EnhancerFault` when it is gone; those of `onTrack` are done all the same. */
  async enhance(tracks: readonly TrackToEnhance[], onTrack: (track: EnhancedTrack) => void): Promise<void> {
    const { trackMs } = this.#parts;
    const left = tracks.map(({ id }) => id);
    const done = new Promise<void>((resolve) => {
      this.#hearTrack = (track) => {
        if (track.id !== left.shift()) return this.kill("it told of another track than the one that was due");
        onTrack(track);
        if (left.length === 0) resolve();
      };
    });
    this.#watch(trackMs, () => `track ${left[0]} took longer than ${trackMs / 1000} s`);
    this.#send({ type: "enhance", tracks: [...tracks] });
    const gone = this.gone.then((why) => {
      throw new EnhancerFault(why);
    });
    try {
      await Promise.race([done, gone]);
    } finally {
      gone.catch(() => {});
      this.#watchdog?.close();
    }
  }

  /** At once: there is nothing that it would have to bring to an end. */
  kill(reason: string): void {
    if (this.#isGone) return;
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  #send(request: EnhanceRequest): void {
    if (!this.#isGone && this.#child.connected) this.#child.send(request, () => {});
  }

  #watch(limitMs: number, why: () => string): void {
    this.#watchdog?.close();
    this.#watchdog = new Deadline(limitMs, () => this.kill(why()));
  }

  #hear(said: unknown): void {
    const message = said as EnhanceMessage;
    if (check(said).length > 0) this.kill("it said something that no child of this version says");
    else if (message.type === "hello") this.#greet(message.protocol);
    else if (message.type === "failed") this.kill(message.detail);
    else if (message.type === "ready") this.#open(message.lacks);
    else this.#take(message.track);
  }

  #greet(protocol: number): void {
    if (protocol !== ENHANCE_PROTOCOL)
      this.kill(`it speaks version ${protocol} of the protocol, the server ${ENHANCE_PROTOCOL}: install both anew`);
  }

  #open(lacks: readonly string[]): void {
    for (const what of lacks) this.#parts.log.warn({ enhancer: this.pid }, what);
    this.#watchdog?.close();
    this.#hearReady();
  }

  #take(track: EnhancedTrack): void {
    this.#watchdog?.refresh();
    this.#hearTrack(track);
  }

  async #awaitExit(): Promise<string> {
    const why = await awaitExit(this.#child);
    this.#isGone = true;
    this.#watchdog?.close();
    return this.#reason ?? why;
  }
}
