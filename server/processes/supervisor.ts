/** What users may do with processes, each of which runs in a runner of its own. */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  attachOutput,
  deleteBranch,
  detachOutput,
  findAttached,
  insertBranch,
  type NewBranch,
} from "../store/outputs.ts";
import { findProcess } from "../store/processes.ts";
import { readStandings } from "../store/standing.ts";
import type { IncomingMessage } from "../telemetry/channel.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { PrepareOrder, ResolveOptions } from "./adoption.ts";
import type { Confinement } from "./confinement.ts";
import type { LiveProcess } from "./describe-process.ts";
import type { PictureSlot } from "./feed.ts";
import { type HoldingNeeds, Holdings, type ProcessMetrics } from "./holdings.ts";
import { limitsOf } from "./limits.ts";
import type { BranchOrder } from "./orders.ts";
import type { BranchState } from "./process-branches.ts";
import type { ProcessNumbers } from "./process-numbers.ts";
import type { FirstInput, ProcessLimits, ProcessOffers, RecordingPlace } from "./process-parts.ts";
import type {
  BranchList,
  Picture,
  Processes,
  ProcessNotice,
  ProcessState,
  StartedProcess,
  StartOrder,
} from "./processes.ts";
import { refuseState } from "./refusals.ts";
import type { RunnerFolders } from "./runner-folders.ts";
import { SpareRunners } from "./spare.ts";
import { judgeStanding } from "./standings.ts";
import { Starts } from "./starts.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

export interface SupervisorNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  /** Of this machine, new with every start of the server. */
  readonly nodeUuid: string;
  /** No other server can be on this database: whoever held a process before is gone. */
  readonly isAlone: boolean;
  readonly confinement: Confinement;
  /** Null: runners open nothing of the data. */
  readonly folders: RunnerFolders | null;
  /** The module that runners run. */
  readonly runnerEntry: URL;
  /** Rejects with `graph_not_found` or `invalid_input`. */
  prepare(order: PrepareOrder): Promise<ProcessOffers & { readonly params: JsonRecord }>;
  /** Rejects with `source_not_found`, `source_file_missing` or `address_refused`. */
  resolveInput(userUuid: string, sourceUuid: string, how?: ResolveOptions): Promise<FirstInput>;
  /** Which way outputs go. */
  readonly routeOutput: RouteOutput;
  /** Where processes are recorded whose keys have that. */
  readonly recordings: RecordingPlace;
  readonly metrics: ProcessMetrics | null;
  readonly listeners?: HoldingNeeds["listeners"];
}

/** So often it is looked whether another machine has stopped what it was to. */
const LOOK_MS = 200;

export class Supervisor implements Processes {
  readonly #needs: SupervisorNeeds;
  readonly #limits: ProcessLimits;
  readonly #spares: SpareRunners;
  readonly #holdings: Holdings;
  readonly #starts: Starts;
  #isClosing = false;

  private constructor(needs: SupervisorNeeds) {
    const { config, log, runnerEntry, confinement, folders } = needs;
    this.#needs = needs;
    this.#limits = limitsOf(config);
    const { loadMs, restart } = this.#limits;
    const replyMs = config.runners.reply_seconds * 1000;
    const count = config.runners.spare;
    this.#spares = new SpareRunners({
      ...{ entry: runnerEntry, confinement, folders, log, count, loadMs, replyMs, ...restart },
      memoryBytes: config.runners.memory_bytes,
      writes: config.runners.writable,
    });
    this.#holdings = new Holdings({ ...needs, limits: this.#limits, spares: this.#spares });
    this.#starts = new Starts({
      ...needs,
      expectStanding: (user) => this.#expectStanding(user),
      expectOpen: () => this.#expectOpen(),
      hold: (parts) => this.#holdings.hold(parts),
      removeRow: (uuid, fence) => this.#holdings.removeRow(uuid, fence),
    });
  }

  /** Spare runners begin to load. Nothing is taken up before `takeUp`. */
  static async open(needs: SupervisorNeeds): Promise<Supervisor> {
    const supervisor = new Supervisor(needs);
    supervisor.#spares.fill();
    return supervisor;
  }

  /** Whatever should run, and nobody holds, runs again under its own uuid. Resolves with how many. */
  takeUp(): Promise<number> {
    return this.#holdings.open();
  }

  /** Runners stop; what should run stays so in the database. Nothing is left behind. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#holdings.close();
    await withTimeout(this.#limits.saveMs, this.#starts.close());
    await this.#spares.close();
  }

  /** Why nothing could be started; null when all is well. */
  get trouble(): string | null {
    return this.#spares.trouble;
  }

  get numbers(): ProcessNumbers {
    return this.#holdings.numbers;
  }

  /** Of a process that this machine runs, or ran not long ago: newer, and more, than what is written down. */
  view(uuid: string): LiveProcess | null {
    return this.held(uuid)?.view ?? this.#holdings.lastView(uuid);
  }

  held(uuid: string): SupervisedProcess | null {
    return this.#holdings.get(uuid);
  }

  start(order: StartOrder): Promise<StartedProcess> {
    return this.#starts.start(order);
  }

  async pause(user: User, uuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).pause();
  }

  async resume(user: User, uuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).unpause();
  }

  async stop(user: User, uuid: string): Promise<void> {
    if (this.#find(user, uuid) === null) {
      if (isOver(await this.#expectRow(user, uuid))) return;
      await this.#stopUnheld(user.uuid, uuid);
    }
    // Looked for again: it may have been taken up in the meantime.
    const held = this.#find(user, uuid);
    if (held !== null) return this.#stopWithin(held);
    const row = await findProcess(this.#needs.sql, user.uuid, uuid);
    if (row !== null && !isOver(row)) throw elsewhere();
  }

  async stopAll(user: User): Promise<readonly string[]> {
    const processes = this.#holdings.of(user.uuid).filter(({ isActive }) => isActive);
    const [others] = await Promise.all([
      this.#stopUnheld(user.uuid, null),
      ...processes.map((process) => this.#stopWithin(process)),
    ]);
    return [...new Set([...processes.map(({ row }) => row.uuid), ...others])];
  }

  async attach(user: User, uuid: string, outputUuid: string): Promise<void> {
    const { sql, log } = this.#needs;
    const process = await this.#expectHeld(user, uuid);
    await process.attach({
      attach: () => attachOutput(sql, user, uuid, outputUuid),
      detach: () =>
        detachOutput(sql, uuid, outputUuid).catch((error) => log.warn({ err: error }, "an output stays attached")),
    });
  }

  async detach(user: User, uuid: string, outputUuid: string): Promise<void> {
    const { sql } = this.#needs;
    const process = await this.#expectHeld(user, uuid);
    if ((await findAttached(sql, uuid, outputUuid)) === null)
      throw new ServiceError("output_not_found", {
        detail: `the output ${outputUuid} is not attached to this process; GET /process/${uuid} lists those that are`,
      });
    await process.detach(outputUuid, { detach: () => detachOutput(sql, uuid, outputUuid) });
  }

  async expectOffer(user: User, uuid: string, offer: string): Promise<void> {
    (await this.#expectActive(user, uuid)).expectOffer(offer);
  }

  async setProperties(
    user: User,
    uuid: string,
    nodes: Readonly<Record<string, JsonRecord>>,
    params: JsonRecord = {},
  ): Promise<void> {
    await (await this.#expectHeld(user, uuid)).setProperties(nodes, params);
  }

  async attachBranch(user: User, uuid: string, branch: Pick<NewBranch, "slot" | "params">): Promise<BranchState> {
    const process = await this.#expectHeld(user, uuid);
    return process.attachBranch({ ...branch, store: this.#branchStore(user, uuid) });
  }

  async detachBranch(user: User, uuid: string, branchUuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).detachBranch(branchUuid, this.#branchStore(user, uuid));
  }

  async listBranches(user: User, uuid: string): Promise<BranchList> {
    const { branches, slots } = await this.#expectHeld(user, uuid);
    return { branches, slots };
  }

  #branchStore(user: User, uuid: string): BranchOrder["store"] {
    const { sql } = this.#needs;
    return {
      insert: (branch) => insertBranch(sql, user, uuid, { uuid: newUuid(), ...branch }),
      delete: (branchUuid) => deleteBranch(sql, uuid, branchUuid),
    };
  }

  async describe(user: User, uuid: string, format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return (await this.#expectHeld(user, uuid)).describe(format);
  }

  async openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void> {
    return (await this.#expectActive(user, uuid)).expectTelemetry();
  }

  async follow(user: User, uuid: string, listener: (notice: ProcessNotice) => void): Promise<() => void> {
    return (await this.#expectActive(user, uuid)).follow(listener);
  }

  async watch(
    user: User,
    uuid: string,
    slot: PictureSlot,
    listener: (picture: Picture) => void,
  ): Promise<() => Promise<void>> {
    return (await this.#expectActive(user, uuid)).watch(slot, listener);
  }

  #find(user: User, uuid: string): SupervisedProcess | null {
    const held = this.#holdings.get(uuid);
    return held?.row.userUuid === user.uuid ? held : null;
  }

  async #expectRow(user: User, uuid: string) {
    const row = await findProcess(this.#needs.sql, user.uuid, uuid);
    if (row === null) throw notFound(uuid);
    return row;
  }

  /** One that has ended is in the wrong state. */
  async #expectHeld(user: User, uuid: string): Promise<SupervisedProcess> {
    const held = this.#find(user, uuid);
    if (held !== null) return held;
    const { state } = await this.#expectRow(user, uuid);
    if (state === "finished" || state === "failed") throw refuseState(state, "asked for that", ["running", "paused"]);
    throw elsewhere();
  }

  /** One that has ended is not there: nothing more will be heard of it. */
  async #expectActive(user: User, uuid: string): Promise<SupervisedProcess> {
    const held = this.#find(user, uuid);
    if (held?.isActive) return held;
    const { state } = held ?? (await this.#expectRow(user, uuid));
    if (state === "finished" || state === "failed") throw notFound(uuid, `the process ${uuid} is ${state}`);
    throw elsewhere();
  }

  /** Its runner is gone within the limit in any case; a database that is away can take longer to hear of it. */
  async #stopWithin(process: SupervisedProcess): Promise<void> {
    if ((await withTimeout(this.#limits.stopMs + this.#limits.saveMs, process.stop())) === TIMED_OUT)
      throw process.runnerPid === undefined
        ? new ServiceError("database_unavailable", {
            detail: "the process has stopped, but that could not be written down yet; it is tried again",
          })
        : stopsSlowly();
    // If it was lost while it stopped, somebody else runs it now.
    await this.#stopUnheld(process.row.userUuid, process.row.uuid);
    await this.#holdings.flushUsage().catch(() => {});
  }

  /** What another machine runs, or nobody yet. Resolves with those that are gone now. */
  async #stopUnheld(userUuid: string, uuid: string | null): Promise<readonly string[]> {
    const { stopMs, saveMs } = this.#limits;
    const untilMs = performance.now() + this.#needs.config.node.renew_seconds * 1000 + stopMs + saveMs;
    const stopped = new Set<string>();
    for (;;) {
      const claims = await this.#holdings.stopUnheld(userUuid, uuid);
      for (const claim of claims) stopped.add(claim.uuid);
      if (claims.every(({ isEnded }) => isEnded)) return [...stopped];
      if (performance.now() > untilMs) throw stopsSlowly();
      await wait(LOOK_MS);
    }
  }

  async #expectStanding(user: User): Promise<void> {
    const [standing] = await readStandings(this.#needs.sql, [user.uuid]);
    const error = standing === undefined ? null : judgeStanding(standing);
    if (error?.code === "usage_limit_reached")
      throw new ServiceError("usage_limit_reached", {
        detail: `${error.detail}; GET /user_info tells how many it had`,
      });
  }

  #expectOpen(): void {
    if (this.#isClosing)
      throw new ServiceError("shutting_down", { detail: "the service is being shut down; try again in a moment" });
  }
}

const isOver = ({ state }: { readonly state: ProcessState }): boolean => state === "finished" || state === "failed";

const notFound = (uuid: string, detail = `there is no process ${uuid}`): ServiceError =>
  new ServiceError("process_not_found", { detail: `${detail}; GET /processes lists those that are active` });

const stopsSlowly = (): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: "the process is being stopped, which takes longer than it should; try again in a moment",
    retryAfterSeconds: 1,
  });

/** Wanted, and held by nobody yet, or by another machine. */
const elsewhere = (): ServiceError =>
  new ServiceError("wrong_state", { detail: "the process is being taken up again; try again in a moment" });
