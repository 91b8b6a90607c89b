/**
 * Those who watch the pictures of one process, with what was found drawn on them (the slot `feed`) or as they are (the slot
 * `view`). A slot is attached, under its own name, while somebody watches it and the process runs.
 */
import type { Picture } from "./processes.ts";

export type PictureSlot = "feed" | "view";

export interface FeedNeeds {
  attach(slot: PictureSlot): Promise<unknown>;
  detach(slot: PictureSlot): Promise<unknown>;
}

type Listener = (picture: Picture) => void;
type InTurn = (sync: () => Promise<void>) => Promise<void>;

export class Feed {
  readonly #needs: FeedNeeds;
  readonly #listeners = new Set<{ readonly slot: PictureSlot; readonly listener: Listener }>();
  readonly #attached = new Set<PictureSlot>();
  /** A `sync` whose turn has not come yet: it is for all who come and go until then. */
  #upcoming: Promise<void> | null = null;

  constructor(needs: FeedNeeds) {
    this.#needs = needs;
  }

  /** Slots that somebody watches. */
  get watched(): readonly PictureSlot[] {
    return SLOTS.filter((slot) => [...this.#listeners].some((entry) => entry.slot === slot));
  }

  /** `inTurn` calls what it is given when it is its turn, if the process runs. Resolves with how to leave. */
  async watch(slot: PictureSlot, listener: Listener, inTurn: InTurn): Promise<() => Promise<void>> {
    const entry = { slot, listener };
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

  show(slot: string, picture: Picture): void {
    for (const entry of [...this.#listeners]) if (entry.slot === slot) entry.listener(picture);
  }

  /** A new runner began, with these. */
  noteRun(slots: readonly PictureSlot[]): void {
    this.#attached.clear();
    for (const slot of slots) this.#attached.add(slot);
  }

  /** Attaches or detaches what viewers need; one call at a time. */
  async sync(): Promise<void> {
    const { watched } = this;
    for (const slot of SLOTS) {
      const isWatched = watched.includes(slot);
      if (isWatched === this.#attached.has(slot)) continue;
      await (isWatched ? this.#needs.attach(slot) : this.#needs.detach(slot));
      if (isWatched) this.#attached.add(slot);
      else this.#attached.delete(slot);
    }
  }
}

const SLOTS: readonly PictureSlot[] = ["feed", "view"];
