/** Streams of a process: `feed` and `events`, until the process ends, the viewer goes or the service shuts down; and websockets. */
import type { Config } from "../../schemas/config.ts";
import { type Authenticate, type KeyHolder, watchKey } from "../keys/authenticate.ts";
import type { PictureSlot, Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { type Chunks, FeedChunks, streamBody } from "./body.ts";
import { EventLines } from "./event-lines.ts";
import { LIMITS, type StreamLimits } from "./socket-client.ts";
import { expectOwner, type PassOn, Sockets } from "./sockets.ts";
import type { UpgradeHook } from "./upgrade.ts";

interface StreamsDeps {
  readonly config: Config["streams"];
  /** Maximum number of open event streams of one key. Default: one. */
  readonly eventClients?: number;
  /** For tests. */
  readonly limits?: Partial<StreamLimits>;
  readonly processes: Pick<Processes, "follow" | "watch" | "openTelemetry" | "expectOffer">;
  readonly authenticate: Authenticate;
  expectSource(user: User, processUuid: string): Promise<void>;
  /** The owner of a process, for holders of a signed URL. Null: there is none, or its keys are not valid. */
  findOwner(processUuid: string): Promise<User | null>;
  isSigned(processUuid: string, token: string): boolean;
  readonly passOn?: PassOn | undefined;
}

/** A viewer of a process. */
export interface Viewing {
  readonly user: User;
  readonly processUuid: string;
  readonly holder: KeyHolder;
  /** Aborted when the viewer has gone. */
  readonly signal: AbortSignal;
  /** Ends the viewer's connection. */
  drop(): void;
}

export type LogViewing = Omit<Viewing, "processUuid">;

interface EndingChunks extends Chunks {
  /** Ends it after what is queued. */
  end(): void;
}

/** Stands for the one log that each key has. */
const LOG = "log";

type Stop = () => unknown;

export class Streams {
  readonly upgrade: UpgradeHook;
  readonly #deps: StreamsDeps;
  readonly #limits: StreamLimits;
  readonly #sockets: Sockets;
  readonly #viewers: Viewers;
  readonly #readers: Viewers;
  /** Functions that end the open streams. */
  readonly #ends = new Set<() => void>();
  #isClosing = false;

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
    this.#sockets = new Sockets({ ...deps, limits: this.#limits });
    this.upgrade = this.#sockets.upgrade;
    this.#viewers = new Viewers(deps.config.viewers, deps.config.viewers_per_key);
    this.#readers = new Viewers(Number.POSITIVE_INFINITY, deps.eventClients ?? 1);
  }

  /** Ends every stream, within `LIMITS.closeMs`. Called before the processes are closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const end of this.#ends) end();
    await this.#sockets.close();
  }

  /** Rejects with `process_not_found`. */
  async expectOwner(processUuid: string): Promise<User> {
    return expectOwner(this.#deps, processUuid);
  }

  async expectFeed({ user, processUuid }: Pick<Viewing, "user" | "processUuid">, slot: PictureSlot): Promise<void> {
    await this.#deps.processes.expectOffer(user, processUuid, slot);
  }

  async expectProcess({ user, processUuid }: Pick<Viewing, "user" | "processUuid">): Promise<void> {
    const unfollow = await this.#deps.processes.follow(user, processUuid, () => {});
    unfollow();
  }

  async openFeed(viewing: Viewing, slot: PictureSlot): Promise<ReadableStream<Uint8Array>> {
    const { user, processUuid } = viewing;
    const { processes } = this.#deps;
    await this.expectFeed(viewing, slot);
    const stops = this.#enter(viewing, this.#viewers, viewing.processUuid);
    const feed = new FeedChunks(stops.run);
    return this.#open(viewing, stops, feed, async () => {
      stops.add(await processes.follow(user, processUuid, ({ type }) => type === "ended" && feed.end()));
      const unwatch = await processes.watch(user, processUuid, slot, (picture) => feed.show(picture));
      // A process that has ended has no feed to detach.
      stops.add(() => void unwatch().catch(() => {}));
    });
  }

  async openEvents(viewing: Viewing): Promise<ReadableStream<Uint8Array>> {
    const { user, processUuid } = viewing;
    await this.expectProcess(viewing);
    const stops = this.#enter(viewing, this.#viewers, viewing.processUuid);
    const lines = new EventLines(processUuid, user.isOperator, this.#limits, stops.run);
    return this.#open(viewing, stops, lines, async () => {
      stops.add(await this.#deps.processes.follow(user, processUuid, (notice) => lines.handle(notice)));
    });
  }

  /** Events of all processes of a user. `create` gets what to call when the client leaves, and the interval of comments. */
  async openLog(
    viewing: LogViewing,
    create: (leave: () => void, pingMs: number) => Promise<EndingChunks>,
  ): Promise<ReadableStream<Uint8Array>> {
    const stops = this.#enter(viewing, this.#readers, LOG);
    try {
      const chunks = await create(stops.run, this.#limits.pingSeconds * 1000);
      return await this.#open(viewing, stops, chunks, async () => {});
    } catch (error) {
      stops.run();
      throw error;
    }
  }

  #enter({ user, signal }: LogViewing, viewers: Viewers, subject: string): Stops {
    if (this.#isClosing) {
      throw new ServiceError("shutting_down", { detail: "The service is shutting down. Try again later." });
    }
    const stops = new Stops();
    stops.add(viewers.enter(subject, user.uuid));
    signal.addEventListener("abort", stops.run, { once: true });
    stops.add(() => signal.removeEventListener("abort", stops.run));
    if (signal.aborted) stops.run();
    return stops;
  }

  async #open(viewing: LogViewing, stops: Stops, chunks: EndingChunks, begin: () => Promise<void>) {
    const end = () => chunks.end();
    this.#ends.add(end);
    stops.add(() => this.#ends.delete(end));
    stops.add(end);
    stops.add(watchKey(this.#deps.authenticate, viewing.holder, this.#limits.pingSeconds, end));
    try {
      await begin();
    } catch (error) {
      chunks.leave();
      throw error;
    }
    return streamBody(chunks, { afterMs: this.#limits.stallMs, drop: viewing.drop });
  }
}

/** Cleanup functions, run once. One added after that is run at once. */
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

/** Limits open feeds and events per process and per key. */
export class Viewers {
  readonly #perProcess: number;
  readonly #perKey: number;
  readonly #counts = new Map<string, number>();

  constructor(perProcess: number, perKey: number) {
    this.#perProcess = perProcess;
    this.#perKey = perKey;
  }

  /** Returns how to leave, which may be called twice. */
  enter(processUuid: string, userUuid: string): () => void {
    this.#expectRoom(processUuid, this.#perProcess, "of this process");
    this.#expectRoom(userUuid, this.#perKey, "with this key");
    this.#add(processUuid, 1);
    this.#add(userUuid, 1);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#add(processUuid, -1);
      this.#add(userUuid, -1);
    };
  }

  #expectRoom(uuid: string, most: number, whose: string): void {
    const count = this.#counts.get(uuid) ?? 0;
    if (count < most) return;
    const detail = `${count} feeds and event streams ${whose} are open; the limit is ${most}. Close one and try again.`;
    throw new ServiceError("viewers_limit_reached", { detail });
  }

  #add(uuid: string, change: number): void {
    const count = (this.#counts.get(uuid) ?? 0) + change;
    if (count === 0) this.#counts.delete(uuid);
    else this.#counts.set(uuid, count);
  }
}
