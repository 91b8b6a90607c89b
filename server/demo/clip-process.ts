/**
 * The child that publishes a clip, seen from the server. It stores nothing. Owner: the `ClipPublisher`, which ends it and
 * starts the next one.
 */
import type { Logger } from "pino";
import { Child, describeExit, forkChild } from "../../ipc/child.ts";
import { CLIP_PROTOCOL, ClipMessage, type ClipRequest, type ClipStage } from "../../schemas/clip.ts";
import { WITHOUT_SECRETS } from "../config/keys.ts";

export interface ClipProcessOptions {
  readonly entry: URL;
  readonly log: Logger;
  readonly request: ClipRequest;
  /** Until it publishes. */
  readonly prepareMs: number;
  onStage(stage: ClipStage): void;
}

export class ClipProcess {
  /** Resolves with the reason when it has ended; never rejects. */
  readonly gone: Promise<string>;
  readonly #child: Child<ClipRequest, ClipMessage>;
  #reason: string | null = null;

  constructor({ entry, log, request, prepareMs, onStage }: ClipProcessOptions) {
    this.#child = new Child<ClipRequest, ClipMessage>({
      name: "the clip publisher",
      spawn: () => forkChild(entry, { ...process.env, ...WITHOUT_SECRETS }),
      protocol: CLIP_PROTOCOL,
      receives: ClipMessage,
      log,
      loadMs: prepareMs,
      onMessage: (message) => {
        if (message.type === "over") this.#reason ??= message.detail;
        if (message.type !== "stage") return;
        if (message.stage === "publishing") this.#child.unwatch();
        onStage(message.stage);
      },
    });
    this.#child.loaded.then(
      () => {
        this.#child.expectWithin(prepareMs, `the clip was not published within ${prepareMs / 1000} s`);
        this.#child.send(request);
      },
      () => {},
    );
    this.gone = this.#child.gone.then(
      (exit) => this.#reason ?? exit.reason ?? describeExit("the clip publisher", exit),
    );
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** At once: it has nothing to finish. */
  kill(reason: string): void {
    this.#child.kill(reason);
  }
}
