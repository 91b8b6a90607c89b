/** The events of several processes at once. */
import { ask } from "../session.ts";
import { EventReader, type ServerEvent } from "./read-events.ts";
import { stream } from "./stream.ts";

/** Browsers keep six connections to a server without HTTP/2; the page itself needs some of them. */
export const MOST_FOLLOWED = 4;

type OnEvent = (processUuid: string, event: ServerEvent) => void;

/** Those that are followed already are left alone when others come or go: what they told meanwhile would be lost. */
export class Follower {
  readonly #onEvent: OnEvent;
  readonly #stops = new Map<string, () => void>();

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  /** The first few of these processes, and no others. */
  follow(processUuids: readonly string[]): void {
    const wanted = processUuids.slice(0, MOST_FOLLOWED);
    for (const [uuid, stop] of this.#stops) {
      if (wanted.includes(uuid)) continue;
      stop();
      this.#stops.delete(uuid);
    }
    for (const uuid of wanted) if (!this.#stops.has(uuid)) this.#stops.set(uuid, this.#open(uuid));
  }

  close(): void {
    this.follow([]);
  }

  #open(uuid: string): () => void {
    return stream({
      ask,
      path: `/process/${uuid}/events`,
      open: () => {
        const events = new EventReader();
        return (piece) => {
          for (const event of events.read(piece)) this.#onEvent(uuid, event);
        };
      },
    });
  }
}
