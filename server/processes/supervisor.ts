/** Runs the processes of users on this node, and lets users control them. */
import { setTimeout as wait } from "node:timers/promises";
import type { JsonRecord } from "../../schemas/json.ts";
import { Semaphore } from "../async/semaphore.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { ServiceError } from "../service-error.ts";
import type { NewBranch } from "../store/outputs.ts";
import { findProcess, type ProcessView } from "../store/processes.ts";
import type { IncomingMessage } from "../telemetry/channels.ts";
import { refuseTelemetry } from "../telemetry/process-telemetry.ts";
import type { User } from "../user.ts";
import { Claims } from "./claims.ts";
import { notFound, notHere, wrongState } from "./errors.ts";
import { type FixedLimits, LIMITS, type ProcessLimits, readLimits } from "./launch.ts";
import type { Process } from "./process.ts";
import type {
  BranchList,
  BranchState,
  Picture,
  PictureSlot,
  Processes,
  ProcessNotice,
  StartedProcess,
  StartOrder,
} from "./processes.ts";
import { LAST_WRITE_MS, ProcessRegistry, type RegistryDeps } from "./registry.ts";
import type { RunnerFolders } from "./runner-folders.ts";
import { RunnerPool } from "./runner-pool.ts";
import { Starter } from "./start.ts";
import { isEnd, type LiveProcess, type ProcessNumbers } from "./view.ts";

export interface SupervisorDeps extends Omit<RegistryDeps, "limits" | "pool" | "slots"> {
  readonly confinement: Confinement;
  /** Null: runners can open no files of the data folder. */
  readonly folders: RunnerFolders | null;
  /** The module that runners run. */
  readonly runnerEntry: URL;
  /** For tests. */
  readonly limits?: Partial<FixedLimits>;
}

/** Interval of checks whether another node has stopped a process. */
const CHECK_MS = 200;

export class Supervisor implements Processes {
  readonly #deps: SupervisorDeps;
  readonly #limits: ProcessLimits;
  readonly #pool: RunnerPool;
  readonly #registry: ProcessRegistry;
  readonly #claims: Claims;
  readonly #starter: Starter;

  private constructor(deps: SupervisorDeps) {
    const { config, log, runnerEntry: entry, confinement, folders } = deps;
    const { spare: count, memory_bytes: memoryBytes, writable: writes } = config.runners;
    const limits = readLimits(config, { ...LIMITS, ...deps.limits });
    this.#deps = deps;
    this.#limits = limits;
    this.#pool = new RunnerPool({
      ...{ entry, confinement, folders, log, count, memoryBytes, writes, ...limits, ...limits.restart },
    });
    const slots = new Semaphore(limits.parallel);
    const processDeps = { ...deps, limits, pool: this.#pool, slots };
    this.#registry = new ProcessRegistry(processDeps);
    this.#claims = new Claims(processDeps, this.#registry);
    this.#starter = new Starter(processDeps, this.#registry, this.#claims);
  }

  /** Begins to load idle runners. Nothing is resumed before `resumeAll`. */
  static async open(deps: SupervisorDeps): Promise<Supervisor> {
    const supervisor = new Supervisor(deps);
    supervisor.#pool.fill();
    return supervisor;
  }

  /** Resumes processes that should run and that no node runs. Resolves with how many run. */
  resumeAll(): Promise<number> {
    this.#registry.startMetering();
    return this.#claims.open();
  }

  /** Runners end; the processes stay wanted in the database, for the next server. */
  async close(): Promise<void> {
    const { stopMs, saveMs } = this.#limits;
    this.#starter.refuse();
    // Runners first: tasks that are still running may be waiting for an unreachable database.
    const halted = this.#registry.haltAll();
    const released = Promise.all([this.#claims.close(), this.#registry.stopMetering()]).then(() =>
      Promise.all([this.#registry.haltAll(), this.#claims.releaseOrphans()]),
    );
    await withTimeout(stopMs + LAST_WRITE_MS, Promise.all([halted, released]));
    await this.#registry.close();
    await withTimeout(saveMs, this.#starter.close());
    await this.#pool.close();
  }

  /** Why nothing can be started; null when all is well. */
  get trouble(): string | null {
    return this.#pool.trouble;
  }

  get numbers(): ProcessNumbers {
    return this.#registry.numbers;
  }

  /** Of a process that this node runs, or ran recently: newer, and more, than what is stored. */
  view(uuid: string): LiveProcess | null {
    return this.#registry.view(uuid);
  }

  held(uuid: string): Process | null {
    return this.#registry.get(uuid);
  }

  start(order: StartOrder): Promise<StartedProcess> {
    return this.#starter.start(order);
  }

  async pause(user: User, uuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.pause();
  }

  async resume(user: User, uuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.resume();
  }

  async stop(user: User, uuid: string): Promise<void> {
    if (this.#find(user, uuid) === null) {
      if (isEnd((await this.#expectRow(user, uuid)).state)) return;
      await this.#stopUnheld(user.uuid, uuid);
    }
    // It may have been resumed here meanwhile.
    const process = this.#find(user, uuid);
    if (process !== null) return this.#stopHeld(process);
    const row = await findProcess(this.#deps.sql, user.uuid, uuid);
    if (row !== null && !isEnd(row.state)) throw notHere();
  }

  async stopAll(user: User): Promise<readonly string[]> {
    const processes = this.#registry.ofUser(user.uuid).filter(({ record }) => record.isActive);
    const [others] = await Promise.all([
      this.#stopUnheld(user.uuid, null),
      ...processes.map((process) => this.#stopHeld(process)),
    ]);
    return [...new Set([...processes.map(({ row }) => row.uuid), ...others])];
  }

  async attach(user: User, uuid: string, outputUuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.attach(user, outputUuid);
  }

  async detach(user: User, uuid: string, outputUuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.detach(outputUuid);
  }

  async expectOffer(user: User, uuid: string, offer: string): Promise<void> {
    (await this.#expectActive(user, uuid)).commands.expectOffer(offer);
  }

  async setProperties(
    user: User,
    uuid: string,
    nodes: Readonly<Record<string, JsonRecord>>,
    params: JsonRecord = {},
  ): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.setProperties(nodes, params);
  }

  async attachBranch(user: User, uuid: string, branch: Pick<NewBranch, "slot" | "params">): Promise<BranchState> {
    return (await this.#expectHeld(user, uuid)).commands.attachBranch(user, branch);
  }

  async detachBranch(user: User, uuid: string, branchUuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.detachBranch(branchUuid);
  }

  async listBranches(user: User, uuid: string): Promise<BranchList> {
    const { branches, commands } = await this.#expectHeld(user, uuid);
    return { branches: branches.states, slots: commands.clientSlots };
  }

  async describe(user: User, uuid: string, format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return (await this.#expectHeld(user, uuid)).commands.describe(format);
  }

  async openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void> {
    const { telemetry } = (await this.#expectActive(user, uuid)).reports;
    if (telemetry === null) throw refuseTelemetry();
    return telemetry.expectReceiver();
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
    const { commands, feed } = await this.#expectActive(user, uuid);
    commands.expectSlot(slot);
    return feed.watch(slot, listener);
  }

  #find(user: User, uuid: string): Process | null {
    const process = this.#registry.get(uuid);
    return process?.row.userUuid === user.uuid ? process : null;
  }

  async #expectRow(user: User, uuid: string): Promise<ProcessView> {
    const row = await findProcess(this.#deps.sql, user.uuid, uuid);
    if (row === null) throw notFound(uuid);
    return row;
  }

  /** For a process that has ended: `wrong_state`. */
  async #expectHeld(user: User, uuid: string): Promise<Process> {
    const process = this.#find(user, uuid);
    if (process !== null) return process;
    const { state } = await this.#expectRow(user, uuid);
    throw isEnd(state) ? wrongState(state, "sent a request", ["running", "paused"]) : notHere();
  }

  /** For a process that has ended: `process_not_found`, as it sends no events any longer. */
  async #expectActive(user: User, uuid: string): Promise<Process> {
    const process = this.#find(user, uuid);
    if (process?.record.isActive) return process;
    const { state } = process ?? (await this.#expectRow(user, uuid));
    throw isEnd(state) ? notFound(uuid, state) : notHere();
  }

  /** Its runner ends within the limit in any case; storing that can take longer while the database is unreachable. */
  async #stopHeld(process: Process): Promise<void> {
    const { stopMs, saveMs } = this.#limits;
    if ((await withTimeout(stopMs + saveMs, process.stop())) === TIMED_OUT)
      throw process.runnerPid === undefined
        ? new ServiceError("database_unavailable", {
            detail: "the process has stopped, but this is not stored yet; it is retried",
          })
        : stopsSlowly();
    // If its lease was lost while it stopped, another node runs it now.
    await this.#stopUnheld(process.row.userUuid, process.row.uuid);
    await this.#registry.flushUsage(saveMs);
  }

  /** Stops what other nodes run, or none yet. Resolves with those that have ended. */
  async #stopUnheld(userUuid: string, uuid: string | null): Promise<readonly string[]> {
    const { stopMs, saveMs, renewMs } = this.#limits;
    const untilMs = performance.now() + renewMs + stopMs + saveMs;
    const stopped = new Set<string>();
    for (;;) {
      const claims = await this.#claims.stopUnheld(userUuid, uuid);
      for (const claim of claims) stopped.add(claim.uuid);
      if (claims.every(({ isEnded }) => isEnded)) return [...stopped];
      if (performance.now() > untilMs) throw stopsSlowly();
      await wait(CHECK_MS);
    }
  }
}

const stopsSlowly = (): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: "the process is stopping, which takes longer than expected; try again in a moment",
    retryAfterSeconds: 1,
  });
