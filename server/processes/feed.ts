/**
 * The viewers of a process's pictures: annotated (slot `feed`) or plain (slot `view`). A slot is attached, under its own
 * name, while it has viewers and the process runs.
 */
import type { SerialQueue } from "../async/serial-queue.ts";
import type { Picture, PictureSlot } from "./processes.ts";
import type { RunnerLink } from "./runner.ts";
import type { StateMachine } from "./state-machine.ts";

const SLOTS: readonly PictureSlot[] = ["feed", "view"];

export interface FeedDeps {
  readonly link: RunnerLink;
  /** Of all commands to the process. */
  readonly queue: SerialQueue;
  readonly machine: StateMachine;
}

type Listener = (picture: Picture) => void;

export class Feed {
  readonly #deps: FeedDeps;
  readonly #viewers = new Set<{ readonly slot: PictureSlot; readonly listener: Listener }>();
  readonly #attached = new Set<PictureSlot>();
  /** A queued `sync` that has not started serves all viewers that come and go until then. */
  #queued: Promise<void> | null = null;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  get watched(): readonly PictureSlot[] {
    return SLOTS.filter((slot) => [...this.#viewers].some((viewer) => viewer.slot === slot));
  }

  /** Resolves with a function that ends it. While the process does not run, pictures come with its next frames. */
  async watch(slot: PictureSlot, listener: Listener): Promise<() => Promise<void>> {
    const viewer = { slot, listener };
    this.#viewers.add(viewer);
    const leave = async (): Promise<void> => {
      this.#viewers.delete(viewer);
      // A runner that has ended has nothing to detach.
      await this.#queueSync().catch(() => {});
    };
    try {
      await this.#queueSync();
    } catch (error) {
      await leave();
      throw error;
    }
    return leave;
  }

  show(slot: string, picture: Picture): void {
    for (const viewer of [...this.#viewers]) if (viewer.slot === slot) viewer.listener(picture);
  }

  /** Slots for the job of a new runner. */
  beginRun(): readonly PictureSlot[] {
    const { watched } = this;
    this.#attached.clear();
    for (const slot of watched) this.#attached.add(slot);
    return watched;
  }

  /** Attaches and detaches slots by their viewers. Only from tasks of the queue. */
  async sync(): Promise<void> {
    const { link } = this.#deps;
    const { watched } = this;
    for (const slot of SLOTS) {
      const isWatched = watched.includes(slot);
      if (isWatched === this.#attached.has(slot)) continue;
      await (isWatched ? link.attach({ id: slot, slot, params: {} }) : link.detach(slot));
      if (isWatched) this.#attached.add(slot);
      else this.#attached.delete(slot);
    }
  }

  #queueSync(): Promise<void> {
    if (this.#queued !== null) return this.#queued;
    const { queue, machine } = this.#deps;
    const queued = queue
      .run(async () => {
        this.#queued = null;
        if (machine.state === "running") await this.sync();
      })
      .finally(() => {
        if (this.#queued === queued) this.#queued = null;
      });
    this.#queued = queued;
    return queued;
  }
}
