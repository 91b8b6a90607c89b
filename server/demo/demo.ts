/**
 * The demo of a user: a clip that is published to our own media hub over and over, a source for it, and a process on that.
 * Kept in the store are only the source and the process, as any others; the publisher is ours, and ends with us.
 */
import type { Logger } from "pino";
import type { DemoState, RunningDemo } from "../../schemas/api/demo.ts";
import type { Config } from "../../schemas/config.ts";
import { backoff, sleep } from "../async/timing.ts";
import type { Media } from "../media/media-hub.ts";
import type { Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { findDemoSource, listActiveOn, listDemosToKeep } from "../store/demos.ts";
import { hubPath, isSourcePath } from "../store/hub-paths.ts";
import type { User } from "../user.ts";
import { ClipPublisher } from "./clip-publisher.ts";

export interface DemoParts {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** The program that publishes clips. */
  readonly clipEntry: URL;
  readonly media: Media;
  readonly sources: Pick<Sources, "register" | "remove">;
  readonly processes: Pick<Processes, "start" | "resume" | "stop">;
}

export interface StartedDemo extends RunningDemo {
  /** False: all of it was there. */
  readonly isNew: boolean;
}

const ALIAS = "Demo: street";
/** What a street has. A model that may say anything takes a jacket on the lawn for a frisbee, and that is no first look. */
const PARAMS = { classes: ["person", "bicycle", "car", "motorcycle", "bus", "truck"] };
const STREAM = "demo";
const GRAPH = "detect";
/** A machine that is busy, or a stream that has only just begun: another moment may do. */
const PASSING = ["source_not_live", "pipeline_failed", "rate_limited", "media_unavailable"];
const RETRY = { firstMs: 500, maxMs: 5_000 };
const LOOK_MS = 50;
/** Time limit for the start of the demo's process. */
const START_MS = 60_000;

export class Demo {
  readonly #parts: DemoParts;
  readonly #ending = new AbortController();
  /** By user. */
  readonly #publishers = new Map<string, ClipPublisher>();
  /** By user. A stop takes the place of a start, which it ends. */
  readonly #work = new Map<string, { readonly kind: "start" | "stop"; readonly done: Promise<unknown> }>();

  constructor(parts: DemoParts) {
    this.#parts = parts;
  }

  /** Those whose processes were taken up again: without their clip these wait in vain. Resolves with how many. */
  async takeUp(): Promise<number> {
    const { sql, nodeUuid } = this.#parts;
    const kept = await listDemosToKeep(sql, nodeUuid, { alias: ALIAS, pathEnd: `/${STREAM}` });
    for (const { userUuid, path } of kept)
      if (!this.#publishers.has(userUuid)) this.#publishers.set(userUuid, this.#openPublisher(userUuid, path));
    return this.#publishers.size;
  }

  /** Whatever of it is missing. Asked twice at once it is done once. Goes on when whoever asked has gone. */
  async start(user: User, publicUrl: string): Promise<StartedDemo> {
    for (let work = this.#work.get(user.uuid); work !== undefined; work = this.#work.get(user.uuid)) {
      if (work.kind === "start") return work.done as Promise<StartedDemo>;
      await work.done.catch(() => {});
    }
    return this.#do(user, "start", () => this.#start(user, publicUrl));
  }

  /** Process, publisher and source; resolves with the uuid of that. Asked twice at once it is done once. Rejects with `demo_not_found`. */
  async stop(user: User): Promise<string> {
    const work = this.#work.get(user.uuid);
    if (work?.kind === "stop") return work.done as Promise<string>;
    return this.#do(user, "stop", () => this.#stop(user, work?.done ?? Promise.resolve()));
  }

  async describe(user: User): Promise<DemoState> {
    const sourceUuid = await this.#findSource(user);
    const active = sourceUuid === null ? [] : await listActiveOn(this.#parts.sql, sourceUuid);
    const process = active.find(({ graph }) => graph === GRAPH);
    const publisher = this.#publishers.get(user.uuid);
    return {
      state: stateOf(publisher, this.#work.get(user.uuid)?.kind === "start", process !== undefined),
      source_uuid: sourceUuid,
      process_uuid: process?.uuid ?? null,
      detail: publisher?.trouble ?? null,
    };
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.all([...this.#publishers.values()].map((publisher) => publisher.close()));
    await Promise.all([...this.#work.values()].map(({ done }) => done.catch(() => {})));
  }

  async #do<T>(user: User, kind: "start" | "stop", act: () => Promise<T>): Promise<T> {
    const done = act();
    const work = { kind, done };
    this.#work.set(user.uuid, work);
    try {
      return await done;
    } finally {
      if (this.#work.get(user.uuid) === work) this.#work.delete(user.uuid);
    }
  }

  async #stop(user: User, starting: Promise<unknown>): Promise<string> {
    const before = await this.#findSource(user);
    // One that is being started is not waited for: without its publisher it fails, and takes itself back.
    await this.#closePublisher(user.uuid);
    await starting.catch(() => {});
    await this.#closePublisher(user.uuid);
    const left = await this.#findSource(user);
    if (left !== null) await this.#remove(user, left);
    const uuid = left ?? before;
    if (uuid !== null) return uuid;
    throw new ServiceError("demo_not_found", { detail: "there is no demo to stop; POST /demo starts one" });
  }

  async #start(user: User, publicUrl: string): Promise<StartedDemo> {
    const path = hubPath(user.username, STREAM);
    const found = await this.#findSource(user);
    const sourceUuid = found ?? (await this.#register(user, path, publicUrl));
    try {
      await this.#publish(user, path);
      const process = await this.#run(user, sourceUuid);
      return { source_uuid: sourceUuid, process_uuid: process.uuid, isNew: process.isNew };
    } catch (error) {
      // Nothing is left of a demo that did not come about.
      if (found === null && !this.#ending.signal.aborted) {
        await this.#closePublisher(user.uuid);
        await this.#remove(user, sourceUuid).catch((err: unknown) =>
          this.#parts.log.warn({ err, sourceUuid }, "the source of a demo that failed could not be removed"),
        );
      }
      throw error;
    }
  }

  #findSource({ uuid, username }: User): Promise<string | null> {
    const place = { userUuid: uuid, path: hubPath(username, STREAM), alias: ALIAS };
    return findDemoSource(this.#parts.sql, place);
  }

  async #register(user: User, path: string, publicUrl: string): Promise<string> {
    const { media, sources } = this.#parts;
    const input_url = `rtsp://${new URL(publicUrl).hostname}:${media.rtspPort}/${path}`;
    const { source } = await sources.register(user, { alias: ALIAS, input_url, stream_type: "rtsp" }, publicUrl);
    return source.uuid;
  }

  /** Resolves when it can be played. */
  async #publish(user: User, path: string): Promise<void> {
    const { media } = this.#parts;
    let publisher = this.#publishers.get(user.uuid);
    // One that has failed just now is asked again at once: somebody waits.
    if (publisher?.stage === "restarting" || publisher?.stage === "over") {
      await this.#closePublisher(user.uuid);
      publisher = undefined;
    }
    this.#expectOpen();
    this.#expectWanted(user);
    publisher ??= this.#openPublisher(user.uuid, path);
    this.#publishers.set(user.uuid, publisher);
    try {
      await publisher.untilPublishing(START_MS);
    } catch (cause) {
      await this.#closePublisher(user.uuid);
      throw new ServiceError("demo_unavailable", { detail: (cause as Error).message, cause });
    }
    const untilMs = performance.now() + START_MS;
    while (media.find(path) === null && publisher.stage === "publishing" && performance.now() < untilMs) {
      await sleep(LOOK_MS, this.#ending.signal);
      this.#expectOpen();
    }
  }

  #openPublisher(userUuid: string, path: string): ClipPublisher {
    const { config, log, clipEntry, media, sql } = this.#parts;
    return new ClipPublisher({
      ...{ config: config.demo, log, entry: clipEntry, media, path },
      isWanted: () => isSourcePath(sql, userUuid, path),
    });
  }

  async #closePublisher(userUuid: string): Promise<void> {
    const publisher = this.#publishers.get(userUuid);
    this.#publishers.delete(userUuid);
    await publisher?.close();
  }

  async #run(user: User, sourceUuid: string): Promise<{ readonly uuid: string; readonly isNew: boolean }> {
    const { sql, processes } = this.#parts;
    const active = (await listActiveOn(sql, sourceUuid)).find(({ graph }) => graph === GRAPH);
    if (active === undefined) return { uuid: await this.#startProcess(user, sourceUuid), isNew: true };
    if (active.state === "paused") await processes.resume(user, active.uuid);
    return { uuid: active.uuid, isNew: false };
  }

  async #startProcess(user: User, sourceUuid: string): Promise<string> {
    const { processes, log } = this.#parts;
    const untilMs = performance.now() + START_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        const { uuid } = await processes.start({ user, sourceUuid, graph: GRAPH, params: PARAMS });
        return uuid;
      } catch (error) {
        const isPassing = error instanceof ServiceError && PASSING.includes(error.code);
        if (!isPassing || performance.now() > untilMs || !this.#publishers.has(user.uuid)) throw error;
        log.info({ why: error.message, attempt }, "the process of the demo could not be started; it is tried again");
      }
      await sleep(backoff(attempt, RETRY), this.#ending.signal);
      this.#expectOpen();
    }
  }

  async #remove(user: User, sourceUuid: string): Promise<void> {
    const { sql, processes, sources } = this.#parts;
    for (const { uuid } of await listActiveOn(sql, sourceUuid)) await processes.stop(user, uuid);
    await sources.remove(user, sourceUuid);
  }

  #expectWanted({ uuid }: User): void {
    if (this.#work.get(uuid)?.kind === "stop")
      throw new ServiceError("demo_unavailable", { detail: "it was told to stop" });
  }

  #expectOpen(): void {
    if (this.#ending.signal.aborted)
      throw new ServiceError("shutting_down", { detail: "the service is being shut down; the demo was not started" });
  }
}

function stateOf(publisher: ClipPublisher | undefined, isStarting: boolean, hasProcess: boolean): DemoState["state"] {
  if (publisher === undefined || publisher.stage === "over") return isStarting ? "starting" : "off";
  if (publisher.stage === "fetching" || publisher.stage === "converting") return publisher.stage;
  if (publisher.stage === "publishing" && hasProcess && !isStarting) return "running";
  return isStarting || hasProcess ? "starting" : "off";
}
