/**
 * The demo of a user: a video of a street that is played in a loop, and a process on it. Both are stored like any other
 * source and process, so that the next start of the service resumes them.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Logger } from "pino";
import type { DemoState, RunningDemo } from "../../schemas/api/demo.ts";
import type { Config } from "../../schemas/config.ts";
import { backoff, sleep } from "../async/timing.ts";
import { readLimits } from "../keys/authenticate.ts";
import type { Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { findDemoSource, listActiveOn } from "../store/demos.ts";
import { listUsers, toUser } from "../store/users.ts";
import type { User } from "../user.ts";

export interface DemoDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  /** Resolves with an mp4 file of the given video, or of a street scene. Rejects with the reason and a remedy. */
  prepareClip(options: {
    readonly file: string | null;
    readonly signal: AbortSignal;
    onStage(stage: Preparation): void;
  }): Promise<string>;
  readonly sources: Pick<Sources, "copy" | "remove">;
  readonly processes: Pick<Processes, "start" | "resume" | "stop">;
}

/** On first use. */
type Preparation = "fetching" | "converting";
type OnStage = (stage: Preparation) => void;

interface StartedDemo extends RunningDemo {
  /** False: it was already running. */
  readonly isNew: boolean;
}

/** A start or a stop in progress. */
interface Work {
  readonly kind: "start" | "stop";
  readonly done: Promise<unknown>;
  readonly abort: AbortController;
}

const ALIAS = "Demo: street";
const GRAPH = "detect";
/** Objects of a street: with all classes, the model takes a jacket on the lawn for a frisbee. */
const PARAMS = { classes: ["person", "bicycle", "car", "motorcycle", "bus", "truck"] };
/** A busy machine: a retry may succeed. */
const TRANSIENT = ["source_not_live", "pipeline_failed", "rate_limited"];
const RETRY = { firstMs: 500, maxMs: 5_000 };
/** Time limit for the start of the demo's process. */
const START_MS = 60_000;

export class Demo {
  readonly #deps: DemoDeps;
  readonly #closing = new AbortController();
  /** By user. */
  readonly #work = new Map<string, Work>();
  /** By user, while the clip is prepared. */
  readonly #preparations = new Map<string, Preparation>();
  /** By user: why the last start failed. */
  readonly #failures = new Map<string, string>();

  constructor(deps: DemoDeps) {
    this.#deps = deps;
  }

  /** Starts what is missing, once for concurrent calls. Continues when the client disconnects. */
  async start(user: User, onStage: OnStage = () => {}): Promise<StartedDemo> {
    for (let work = this.#work.get(user.uuid); work !== undefined; work = this.#work.get(user.uuid)) {
      if (work.kind === "start") return work.done as Promise<StartedDemo>;
      await work.done.catch(() => {});
    }
    return this.#run(user, "start", (signal) => this.#start(user, signal, onStage));
  }

  /** The demo of `serve --demo`: that of the oldest master key. Rejects with `ServiceError`. */
  async startFirst(onStage?: OnStage): Promise<RunningDemo> {
    const { sql, config } = this.#deps;
    const first = (await listUsers(sql)).find(
      ({ masterUuid, revokedAt, expiresAt }) =>
        masterUuid === null && revokedAt === null && (expiresAt === null || expiresAt.getTime() > Date.now()),
    );
    if (first === undefined)
      throw unavailable("there is no valid master key; create one with `windhover keys create NAME --operator`");
    const { source_uuid, process_uuid } = await this.start(toUser(first, readLimits(config)), onStage);
    return { source_uuid, process_uuid };
  }

  /** Removes process and source, once for concurrent calls; a start in progress is aborted. Resolves with the uuid of the source. */
  async stop(user: User): Promise<string> {
    const work = this.#work.get(user.uuid);
    if (work?.kind === "stop") return work.done as Promise<string>;
    work?.abort.abort(unavailable("the demo was stopped during its start"));
    return this.#run(user, "stop", async () => {
      await work?.done.catch(() => {});
      const sourceUuid = await findDemoSource(this.#deps.sql, user.uuid, ALIAS);
      if (sourceUuid === null)
        throw new ServiceError("demo_not_found", { detail: "there is no demo to stop; POST /demo starts one" });
      await this.#remove(user, sourceUuid);
      return sourceUuid;
    });
  }

  async describe({ uuid }: User): Promise<DemoState> {
    const { sql } = this.#deps;
    const sourceUuid = await findDemoSource(sql, uuid, ALIAS);
    const process = sourceUuid === null ? undefined : await findProcess(sql, sourceUuid);
    const work = this.#work.get(uuid);
    const idle = process === undefined ? "off" : "running";
    return {
      state: work?.kind === "start" ? (this.#preparations.get(uuid) ?? "starting") : idle,
      source_uuid: sourceUuid,
      process_uuid: process?.uuid ?? null,
      detail: this.#failures.get(uuid) ?? null,
    };
  }

  /** Aborts starts. */
  async close(): Promise<void> {
    this.#closing.abort(
      new ServiceError("shutting_down", { detail: "the service is shutting down; the demo was not started" }),
    );
    await Promise.all([...this.#work.values()].map(({ done }) => done.catch(() => {})));
  }

  /** @param act rejects when the signal is aborted */
  async #run<T>({ uuid }: User, kind: Work["kind"], act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.#closing.signal]);
    const done = act(signal).catch((error: Error) => {
      if (signal.aborted) throw signal.reason;
      if (kind === "start") this.#failures.set(uuid, error.message);
      throw error;
    });
    const work = { kind, done, abort };
    this.#work.set(uuid, work);
    this.#failures.delete(uuid);
    try {
      return await done;
    } finally {
      if (this.#work.get(uuid) === work) this.#work.delete(uuid);
    }
  }

  async #start(user: User, signal: AbortSignal, onStage: OnStage): Promise<StartedDemo> {
    const { sql, processes, log } = this.#deps;
    const found = await findDemoSource(sql, user.uuid, ALIAS);
    const source_uuid = found ?? (await this.#addSource(user, signal, onStage));
    try {
      const process = await findProcess(sql, source_uuid);
      if (process?.state === "paused") await processes.resume(user, process.uuid);
      if (process !== undefined) return { source_uuid, process_uuid: process.uuid, isNew: false };
      return { source_uuid, process_uuid: await this.#startProcess(user, source_uuid, signal), isNew: true };
    } catch (error) {
      // A failed start leaves nothing.
      if (found === null)
        await this.#remove(user, source_uuid).catch((err: unknown) =>
          log.warn({ err, source_uuid }, "source of a failed demo could not be removed"),
        );
      throw error;
    }
  }

  async #addSource(user: User, signal: AbortSignal, onStage: OnStage): Promise<string> {
    const path = await this.#prepareClip(user, signal, onStage);
    const { source } = await this.#deps.sources.copy({
      ...{ user, name: "demo.mp4", alias: ALIAS, loop: true, signal },
      ...{ open: async () => createReadStream(path), sizeBytes: (await stat(path)).size },
    });
    return source.uuid;
  }

  async #prepareClip({ uuid }: User, signal: AbortSignal, report: OnStage): Promise<string> {
    const { config, prepareClip } = this.#deps;
    try {
      const onStage = (stage: Preparation) => {
        this.#preparations.set(uuid, stage);
        report(stage);
      };
      return await prepareClip({ file: config.demo.clip, signal, onStage });
    } catch (cause) {
      throw unavailable((cause as Error).message, cause);
    } finally {
      this.#preparations.delete(uuid);
    }
  }

  async #startProcess(user: User, sourceUuid: string, signal: AbortSignal): Promise<string> {
    const { processes, log } = this.#deps;
    const untilMs = performance.now() + START_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        const { uuid } = await processes.start({ user, sourceUuid, graph: GRAPH, params: PARAMS, signal });
        return uuid;
      } catch (error) {
        const isTransient = error instanceof ServiceError && TRANSIENT.includes(error.code);
        if (!isTransient || signal.aborted || performance.now() > untilMs) throw error;
        log.info({ reason: error.message, attempt }, "demo start retried");
      }
      await sleep(backoff(attempt, RETRY), signal);
    }
  }

  async #remove(user: User, sourceUuid: string): Promise<void> {
    const { sql, processes, sources } = this.#deps;
    for (const { uuid } of await listActiveOn(sql, sourceUuid)) await processes.stop(user, uuid);
    await sources.remove(user, sourceUuid);
  }
}

const findProcess = async (sql: Sql, sourceUuid: string) =>
  (await listActiveOn(sql, sourceUuid)).find(({ graph }) => graph === GRAPH);

const unavailable = (detail: string, cause?: unknown): ServiceError =>
  new ServiceError("demo_unavailable", { detail, cause });
