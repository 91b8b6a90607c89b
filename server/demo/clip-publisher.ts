/** Keeps a clip published at a path of our media hub: whatever lets go of it, it comes again. Owner: the `Demo`. */
import type { Logger } from "pino";
import type { ClipStage } from "../../schemas/clip.ts";
import type { Config } from "../../schemas/config.ts";
import { type BackoffRule, backoff, sleep } from "../async/timing.ts";
import type { Media } from "../media/media-hub.ts";
import { ClipProcess } from "./clip-process.ts";

export interface ClipPublisherParts {
  readonly config: Config["demo"];
  readonly log: Logger;
  readonly entry: URL;
  readonly media: Pick<Media, "issueToken">;
  readonly path: string;
  /** Asked before every time but the first. Rejects while that cannot be found out. */
  isWanted(): Promise<boolean>;
  /** Delays before it is published again; set in tests. */
  readonly restart?: BackoffRule;
}

/** `restarting`: it was published, or should be, and will be again. `over`: it is not any more, for good. */
export type PublisherStage = "starting" | ClipStage | "restarting" | "over";

/** One that was published for so long was well. */
const WELL_MS = 30_000;
/** Time limit for fetching and converting the clip on first use. */
const PREPARE_MS = 900_000;
const RESTART = { firstMs: 500, maxMs: 30_000 };

export class ClipPublisher {
  stage: PublisherStage = "starting";
  /** Why it is not published now, as far as it is known. */
  trouble: string | null = null;
  readonly #parts: ClipPublisherParts;
  readonly #ending = new AbortController();
  readonly #working: Promise<void>;
  readonly #listeners = new Set<() => void>();
  #process: ClipProcess | null = null;
  /** In the present try, or in the last one. */
  #hasClip = false;

  constructor(parts: ClipPublisherParts) {
    this.#parts = parts;
    this.#working = this.#work();
  }

  /** Of the child; for tests and logs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /**
   * Resolves when it is published. Rejects with the reason when there is no clip to publish. A hub that does not accept the
   * clip is retried: on a busy machine it may answer late. That fails after `limitMs`.
   */
  untilPublishing(limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (isPublishing: boolean): void => {
        this.#listeners.delete(look);
        clearTimeout(timer);
        if (isPublishing) resolve();
        else reject(new Error(this.trouble ?? "it was told to stop"));
      };
      const look = (): void => {
        if (this.stage === "publishing") settle(true);
        else if (this.stage === "over") settle(false);
        else if (this.stage === "restarting" && !this.#hasClip) settle(false);
        else if (this.stage === "restarting") timer ??= setTimeout(() => settle(false), limitMs);
      };
      this.#listeners.add(look);
      look();
    });
  }

  /** Resolves when its child is gone. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#process?.kill("it was told to stop");
    await this.#working;
  }

  async #work(): Promise<void> {
    const { log, path, restart = RESTART } = this.#parts;
    const { signal } = this.#ending;
    let failures = 0;
    do {
      const startedMs = performance.now();
      const why = await this.#publish();
      if (signal.aborted) break;
      failures = performance.now() - startedMs > WELL_MS ? 1 : failures + 1;
      log.warn({ path, why, failures }, "the clip of the demo is not published any more; it will be again");
      this.#enter("restarting", why);
      await sleep(backoff(failures, restart), signal);
    } while (await this.#isWanted());
    this.#enter("over", this.trouble);
  }

  /** Resolves with why it is over. */
  async #publish(): Promise<string> {
    const { config, log, entry, media, path } = this.#parts;
    this.#hasClip = false;
    this.#enter("starting", this.trouble);
    const token = media.issueToken("publish", path);
    try {
      this.#process = new ClipProcess({
        ...{ entry, log, prepareMs: PREPARE_MS },
        request: { type: "publish", url: token.url, file: config.clip },
        onStage: (stage) => {
          this.#hasClip ||= stage === "connecting";
          this.#enter(stage, stage === "publishing" ? null : this.trouble);
        },
      });
      return await this.#process.gone;
    } finally {
      this.#process = null;
      token.revoke();
    }
  }

  async #isWanted(): Promise<boolean> {
    if (this.#ending.signal.aborted) return false;
    // A database that is away says nothing about it.
    return this.#parts.isWanted().catch(() => true);
  }

  #enter(stage: PublisherStage, trouble: string | null): void {
    this.stage = stage;
    this.trouble = trouble;
    for (const look of [...this.#listeners]) look();
  }
}
