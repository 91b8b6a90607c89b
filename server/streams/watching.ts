/** `feed` and `events`: answers that go on until the process ends, the viewer goes or the service is shut down. */
import type { Config } from "../../schemas/config.ts";
import type { Authenticate } from "../keys/authenticate.ts";
import type { PictureSlot, Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { streamBody } from "./body.ts";
import { EventLines } from "./event-lines.ts";
import { FeedParts } from "./feed-parts.ts";
import { type KeyHolder, watchKey } from "./key-watch.ts";
import { Viewers } from "./viewers.ts";

export interface WatchingNeeds {
  readonly config: Config["streams"];
  readonly processes: Pick<Processes, "follow" | "watch" | "expectOffer">;
  readonly authenticate: Authenticate;
}

/** Who looks, and at what. */
export interface Viewing {
  readonly user: User;
  readonly processUuid: string;
  readonly holder: KeyHolder;
  /** Aborted when the viewer has gone. */
  readonly signal: AbortSignal;
  /** Ends the viewer's connection. */
  drop(): void;
}

type Stop = () => unknown;

export class Watching {
  readonly #needs: WatchingNeeds;
  readonly #viewers: Viewers;
  /** What ends each of those that are under way. */
  readonly #ends = new Set<() => void>();
  #isClosing = false;

  constructor(needs: WatchingNeeds) {
    this.#needs = needs;
    this.#viewers = new Viewers(needs.config.viewers, needs.config.viewers_per_key);
  }

  /** Ends every one of them after what is being sent. */
  close(): void {
    this.#isClosing = true;
    for (const end of this.#ends) end();
  }

  async expectFeed({ user, processUuid }: Pick<Viewing, "user" | "processUuid">, slot: PictureSlot): Promise<void> {
    await this.#needs.processes.expectOffer(user, processUuid, slot);
  }

  async expectProcess({ user, processUuid }: Pick<Viewing, "user" | "processUuid">): Promise<void> {
    const unfollow = await this.#needs.processes.follow(user, processUuid, () => {});
    unfollow();
  }

  async openFeed(viewing: Viewing, slot: PictureSlot): Promise<ReadableStream<Uint8Array>> {
    const { user, processUuid } = viewing;
    const { processes } = this.#needs;
    await this.expectFeed(viewing, slot);
    const stops = this.#enter(viewing);
    const parts = new FeedParts(stops.run);
    return this.#open(viewing, stops, parts, async () => {
      stops.add(await processes.follow(user, processUuid, ({ type }) => type === "ended" && parts.end()));
      const unwatch = await processes.watch(user, processUuid, slot, (picture) => parts.show(picture));
      // A process that is gone has no feed to take away.
      stops.add(() => void unwatch().catch(() => {}));
    });
  }

  async openEvents(viewing: Viewing): Promise<ReadableStream<Uint8Array>> {
    const { user, processUuid } = viewing;
    await this.expectProcess(viewing);
    const stops = this.#enter(viewing);
    const lines = new EventLines(processUuid, user.isOperator, this.#needs.config, stops.run);
    return this.#open(viewing, stops, lines, async () => {
      stops.add(await this.#needs.processes.follow(user, processUuid, (notice) => lines.hear(notice)));
    });
  }

  #enter({ user, processUuid, signal }: Viewing): Stops {
    if (this.#isClosing) {
      throw new ServiceError("shutting_down", { detail: "The service is being shut down. Try again later." });
    }
    const stops = new Stops();
    stops.add(this.#viewers.enter(processUuid, user.uuid));
    signal.addEventListener("abort", stops.run, { once: true });
    stops.add(() => signal.removeEventListener("abort", stops.run));
    if (signal.aborted) stops.run();
    return stops;
  }

  async #open(viewing: Viewing, stops: Stops, pieces: FeedParts | EventLines, begin: () => Promise<void>) {
    const end = () => pieces.end();
    this.#ends.add(end);
    stops.add(() => this.#ends.delete(end));
    stops.add(end);
    stops.add(watchKey(this.#needs.authenticate, viewing.holder, this.#needs.config.ping_seconds, end));
    try {
      await begin();
    } catch (error) {
      pieces.leave();
      throw error;
    }
    return streamBody(pieces, { afterMs: this.#needs.config.feed_stall_seconds * 1000, drop: viewing.drop });
  }
}

/** What is to be undone, once. What is added afterwards is undone at once. */
class Stops {
  #stops: Stop[] | null = [];

  add(stop: Stop): void {
    if (this.#stops === null) stop();
    else this.#stops.push(stop);
  }

  readonly run = (): void => {
    const stops = this.#stops ?? [];
    this.#stops = null;
    for (const stop of stops.reverse()) stop();
  };
}
