/** Those who watch the pictures of one process. The slot is attached while there are any and the process runs. */
import { FEED } from "./job.ts";
import type { Picture } from "./processes.ts";

export interface FeedNeeds {
  attach(attachment: string): Promise<unknown>;
  detach(attachment: string): Promise<unknown>;
}

type Listener = (picture: Picture) => void;
type InTurn = (sync: () => Promise<void>) => Promise<void>;

export class Feed {
  readonly #needs: FeedNeeds;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #isAttached = false;
  /** A `sync` whose turn has not come yet: it is for all who come and go until then. */
  #upcoming: Promise<void> | null = null;

  constructor(needs: FeedNeeds) {
    this.#needs = needs;
  }

  get hasViewers(): boolean {
    return this.#listeners.size > 0;
  }

  /** `inTurn` calls what it is given when it is its turn, if the process runs. Resolves with how to leave. */
  async watch(listener: Listener, inTurn: InTurn): Promise<() => Promise<void>> {
    const entry = { listener };
    this.#listeners.add(entry);
    const leave = async (): Promise<void> => {
      this.#listeners.delete(entry);
      // A runner that is gone has no feed to take away.
      await this.#syncInTurn(inTurn).catch(() => {});
    };
    try {
      await this.#syncInTurn(inTurn);
    } catch (error) {
      await leave();
      throw error;
    }
    return leave;
  }

  #syncInTurn(inTurn: InTurn): Promise<void> {
    if (this.#upcoming !== null) return this.#upcoming;
    const upcoming = inTurn(() => {
      this.#upcoming = null;
      return this.sync();
    }).finally(() => {
      if (this.#upcoming === upcoming) this.#upcoming = null;
    });
    this.#upcoming = upcoming;
    return upcoming;
  }

  show(picture: Picture): void {
    for (const { listener } of [...this.#listeners]) listener(picture);
  }

  /** A new runner began, with or without the feed. */
  noteRun(isAttached: boolean): void {
    this.#isAttached = isAttached;
  }

  /** Attaches or detaches what viewers need; one call at a time. */
  async sync(): Promise<void> {
    if (this.#isAttached === this.hasViewers) return;
    this.#isAttached = this.hasViewers;
    try {
      await (this.#isAttached ? this.#needs.attach(FEED) : this.#needs.detach(FEED));
    } catch (error) {
      this.#isAttached = !this.#isAttached;
      throw error;
    }
  }
}
