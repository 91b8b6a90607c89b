/**
 * The child that publishes a clip, as the server sees it. It ends with us and keeps nothing. Owner: the `ClipPublisher`,
 * which ends it and starts the next one.
 */
import type { ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import { Deadline } from "../../ipc/deadline.ts";
import { CLIP_PROTOCOL, ClipMessage, type ClipRequest, type ClipStage } from "../../schemas/clip.ts";
import { awaitExit, forkDisposable } from "../processes/disposable-child.ts";
import { RunnerOutput } from "../processes/runner-output.ts";
import { checkBy } from "../validation.ts";

export interface ClipProcessParts {
  readonly entry: URL;
  readonly log: Logger;
  readonly request: ClipRequest;
  /** Until it publishes. */
  readonly prepareMs: number;
  onStage(stage: ClipStage): void;
}

const check = checkBy(ClipMessage);

export class ClipProcess {
  /** Resolves with why once it is gone; never rejects. */
  readonly gone: Promise<string>;
  readonly #parts: ClipProcessParts;
  readonly #child: ChildProcess;
  readonly #deadline: Deadline;
  #reason: string | null = null;
  #isGone = false;

  constructor(parts: ClipProcessParts) {
    const { entry, log, prepareMs } = parts;
    this.#parts = parts;
    this.#child = forkDisposable(entry);
    const output = new RunnerOutput((line) => log.debug({ clip: this.pid }, line));
    for (const stream of [this.#child.stdout, this.#child.stderr]) if (stream !== null) output.drain(stream);
    this.#deadline = new Deadline(prepareMs, () =>
      this.kill(`the clip was not published within ${prepareMs / 1000} s`),
    );
    this.gone = this.#awaitExit();
    this.#child.on("message", (said) => this.#hear(said));
  }

  /** Undefined when it could not even be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** At once: there is nothing that it would have to bring to an end. */
  kill(reason: string): void {
    if (this.#isGone) return;
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  #hear(said: unknown): void {
    const message = said as ClipMessage;
    if (check(said).length > 0) this.kill("it said something that no child of this version says");
    else if (message.type === "hello") this.#greet(message.protocol);
    else if (message.type === "over") this.#reason ??= message.detail;
    else {
      if (message.stage === "publishing") this.#deadline.close();
      this.#parts.onStage(message.stage);
    }
  }

  #greet(protocol: number): void {
    if (protocol === CLIP_PROTOCOL) this.#child.send(this.#parts.request, () => {});
    else this.kill(`it speaks version ${protocol} of the protocol, the server ${CLIP_PROTOCOL}: install both anew`);
  }

  async #awaitExit(): Promise<string> {
    const why = await awaitExit(this.#child);
    this.#isGone = true;
    this.#deadline.close();
    return this.#reason ?? why;
  }
}
