/** The processes of this node, for the rest of the server: starts and stops them, and passes the commands of users on. */
import { setTimeout as wait } from "node:timers/promises";
import type { ShadowRecord } from "../../schemas/api/shadows.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { SeenEdge } from "../../schemas/runner.ts";
import { RequestLimit, TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import { estimateCost } from "../store/capacity.ts";
import type { NewBranch } from "../store/outputs.ts";
import { findProcess, insertProcess, type ProcessRow, type ProcessView } from "../store/processes.ts";
import { readViews } from "../store/progress.ts";
import { expectMinutes } from "../store/users.ts";
import type { IncomingMessage } from "../telemetry/channels.ts";
import { refuseTelemetry } from "../telemetry/process-telemetry.ts";
import { type Span, traced } from "../tracing/span.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { hasEnded, notFound, notHere, shuttingDown, startFailed, stopsSlowly, tooBusy } from "./errors.ts";
import type { Process } from "./process.ts";
import {
  type BranchList,
  type BranchState,
  type FirstInput,
  type FixedLimits,
  LIMITS,
  type Picture,
  type PictureSlot,
  type ProcessCost,
  type Processes,
  type ProcessLimits,
  type ProcessNotice,
  type ProcessOffers,
  readLimits,
  type ShadowOrder,
  type StartedProcess,
  type StartOrder,
  type UpgradeAnswer,
  type UpgradeOrder,
} from "./processes.ts";
import { LAST_WRITE_MS, ProcessRegistry, type RegistryDeps } from "./registry.ts";
import { RunnerPool } from "./runner.ts";
import type { RunnerFolders } from "./runner-folders.ts";
import { countProcesses, isEnd, type LiveProcess, type ProcessNumbers, readStoredView } from "./view.ts";

export interface SupervisorDeps extends Omit<RegistryDeps, "limits" | "pool"> {
  readonly confinement: Confinement;
  /** Null: runners can open no files of the data folder. */
  readonly folders: RunnerFolders | null;
  /** The module that runners run. */
  readonly runnerEntry: URL;
  /** For tests. */
  readonly limits?: Partial<FixedLimits>;
}

/** An order that the graph and the source accept. */
interface CheckedOrder extends ProcessOffers {
  readonly input: FirstInput;
  readonly params: JsonRecord;
}

/** How long the node that hands a process over waits for it to run. */
const TAKE_OVER_MS = 8_000;
const POLL_MS = 50;

/** Of a new row. */
const FIRST_FENCE = 1;

export class Supervisor implements Processes {
  readonly #deps: SupervisorDeps;
  readonly #limits: ProcessLimits;
  readonly #pool: RunnerPool;
  readonly #registry: ProcessRegistry;
  /** Rows of failed starts that are being deleted. */
  readonly #removals = new Set<Promise<unknown>>();
  #isClosing = false;

  private constructor(deps: SupervisorDeps) {
    const { config, log, runnerEntry: entry, confinement, folders } = deps;
    const { spare: count, memory_bytes: memoryBytes, writable: writes } = config.runners;
    const limits = readLimits(config, { ...LIMITS, ...deps.limits });
    this.#deps = deps;
    this.#limits = limits;
    this.#pool = new RunnerPool({
      ...{ entry, confinement, folders, log, count, memoryBytes, writes, ...limits, ...limits.restart },
    });
    this.#registry = new ProcessRegistry({ ...deps, limits, pool: this.#pool });
  }

  /** Begins to load idle runners. Nothing is resumed before `resumeAll`. */
  static async open(deps: SupervisorDeps): Promise<Supervisor> {
    const supervisor = new Supervisor(deps);
    supervisor.#pool.fill();
    return supervisor;
  }

  /** Resumes processes that should run and that no node runs. Resolves with how many run. */
  resumeAll(): Promise<number> {
    return this.#registry.open();
  }

  /** All processes of this node. */
  get all(): readonly Process[] {
    return this.#registry.all;
  }

  /** Another node is about to hand a process over: resolves when it can be resumed without a delay. */
  async prepare(): Promise<void> {
    await withTimeout(this.#limits.loadMs, this.#pool.prepare());
  }

  /** Resumes a process that another node hands over. Resolves when it runs; false: this node cannot take it. */
  async takeOver(uuid: string): Promise<boolean> {
    if (this.#isClosing || !(await this.#registry.claimNow(uuid))) return false;
    const untilMs = performance.now() + TAKE_OVER_MS;
    const isWaiting = (): boolean => {
      const process = this.#registry.get(uuid);
      return process === null || (process.isActive && process.state === "starting");
    };
    while (isWaiting() && performance.now() < untilMs) await wait(POLL_MS);
    return true;
  }

  /** Runners end; the processes stay wanted in the database, for the next server. */
  async close(): Promise<void> {
    const { stopMs, saveMs } = this.#limits;
    this.#isClosing = true;
    await withTimeout(stopMs + LAST_WRITE_MS, this.#registry.release());
    await this.#registry.close();
    await withTimeout(saveMs, Promise.all(this.#removals));
    await this.#pool.close();
  }

  /** Why nothing can be started; null when all is well. */
  get trouble(): string | null {
    return this.#pool.trouble;
  }

  get numbers(): ProcessNumbers {
    return countProcesses(this.#registry.all.map(({ view }) => view));
  }

  /** Of a process that this node runs, or ran recently: newer, and more, than what is stored. */
  view(uuid: string): LiveProcess | null {
    return this.#registry.view(uuid);
  }

  /** As `view`, also of processes of other nodes: those are a few seconds old. */
  async views(uuids: readonly string[]): Promise<ReadonlyMap<string, LiveProcess>> {
    const { sql, node } = this.#deps;
    const own = uuids.map((uuid) => [uuid, this.view(uuid)] as const);
    const others = node.isAlone ? [] : own.flatMap(([uuid, view]) => (view === null ? [uuid] : []));
    const stored = await readViews(sql, others);
    return new Map([
      ...own.flatMap(([uuid, view]) => (view === null ? [] : [[uuid, view] as const])),
      ...[...stored].map(([uuid, view]) => [uuid, readStoredView(view)] as const),
    ]);
  }

  held(uuid: string): Process | null {
    return this.#registry.get(uuid);
  }

  /** Each start gets its response within the time limit, whatever is slow. */
  async start(order: StartOrder): Promise<StartedProcess> {
    const { requestedMs = performance.now(), signal } = order;
    const limit = new RequestLimit(requestedMs, this.#limits.startMs, signal);
    try {
      return await traced(order.span, "start process", (span) => this.#start(order, requestedMs, limit, span));
    } catch (error) {
      if (error !== limit.signal.reason) throw error;
      throw limit.isLate ? tooBusy(limit.limitMs) : startFailed({ kind: "stopped" }, false);
    } finally {
      limit.close();
    }
  }

  async #start(
    order: StartOrder,
    requestedMs: number,
    limit: RequestLimit,
    span: Span | null,
  ): Promise<StartedProcess> {
    const checked = await traced(span, "check request", () => limit.race(this.#check(order)));
    const row = await traced(span, "store process", () => this.#insert(order, checked, limit));
    const checksMs = Math.round(performance.now() - requestedMs);
    const { input } = checked;
    const process = this.#registry.hold({
      ...{ ...checked, row, outputs: [], branches: [], hasRecording: order.user.hasRecording, span },
    });
    try {
      if (this.#isClosing) throw shuttingDown();
      const times = { checks: checksMs, ...(await process.start(limit)) };
      return { uuid: row.uuid, sourceUuid: row.sourceUuid, telemetry: input.telemetry, times };
    } catch (error) {
      process.abandon();
      await this.#remove(row.uuid, row.fence, limit);
      throw this.#isClosing ? shuttingDown() : error;
    }
  }

  async #check(order: StartOrder): Promise<CheckedOrder> {
    const { user, sourceUuid, graph, graphText, params, isPaused = false, signal, wait = null } = order;
    if (this.#isClosing) throw shuttingDown();
    await expectMinutes(this.#deps.sql, user.uuid);
    const input = await this.#deps.resolveInput(user.uuid, sourceUuid);
    if (isPaused && !input.isFile)
      throw invalidInput([
        {
          path: "/paused",
          message: "is for files that are played once; a live source would go on without the process",
        },
      ]);
    if (wait !== null && (input.isFile || input.loops === true))
      throw invalidInput([
        { path: "/wait", message: "is for live sources; this one is a file, which can be played now" },
      ]);
    const owner = { userUuid: user.uuid, ...(signal !== undefined && { signal }) };
    const prepared = await this.#deps.prepare({
      ...{ graph, graphText: graphText ?? null, params, sourceUri: input.uri, sourceLoops: input.loops ?? false },
      ...owner,
    });
    return { ...prepared, input };
  }

  /** What is reserved for it on its node; nothing where no node has limits. */
  async costOf(process: Pick<ProcessRow, "graph" | "params" | "sourceUuid">): Promise<ProcessCost> {
    const { sql, node } = this.#deps;
    const isLimited = (await node.list()).some(({ cores, memoryBytes }) => cores !== null || memoryBytes !== null);
    return isLimited ? estimateCost(sql, process) : { cores: 0, memoryBytes: 0 };
  }

  async #insert(order: StartOrder, checked: CheckedOrder, limit: RequestLimit): Promise<ProcessRow> {
    const { sql, node } = this.#deps;
    const { user, sourceUuid, graph, graphText = null, graphVersion = null, forSeconds } = order;
    const { input, params, alertNode = null, models = [] } = checked;
    const uuid = newUuid();
    const cost = await this.costOf({ graph, params, sourceUuid });
    const inserted = insertProcess(
      sql,
      {
        ...{ uuid, userUuid: user.uuid, sourceUuid, sourceUrl: input.label, graph, graphText, graphVersion, params },
        ...{ hasTrackLogger: user.hasTrackLogger, telemetryCfg: input.telemetry, nextTrackId: 1, nodeUuid: node.uuid },
        ...{ ...cost, labels: order.labels ?? {}, models, desired: order.isPaused ? "paused" : "running" },
        ...{ takesAlerts: alertNode !== null, wait: order.wait ?? null },
        endsAt: forSeconds === undefined ? null : new Date(Date.now() + forSeconds * 1000),
      },
      user.limits.processes,
    );
    try {
      return await limit.race(inserted);
    } catch (error) {
      // It may be stored all the same: its commit may be pending, or only the response was lost.
      if (!isRejection(error)) await this.#remove(uuid, FIRST_FENCE, limit, inserted);
      throw error;
    }
  }

  /** Waits for it, within the time limit, so that another start usually finds the process limit free. */
  async #remove(uuid: string, fence: number, limit: RequestLimit, after: Promise<unknown> = Promise.resolve()) {
    const removed = after.catch(() => {}).then(() => this.#registry.removeFailedStart(uuid, fence));
    this.#removals.add(removed);
    void removed.finally(() => this.#removals.delete(removed));
    await withTimeout(limit.responseMs, removed);
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
      await this.#registry.stopElsewhere(user.uuid, uuid);
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
      this.#registry.stopElsewhere(user.uuid, null),
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

  async upgrade(user: User, uuid: string, order: UpgradeOrder): Promise<UpgradeAnswer> {
    return (await this.#expectHeld(user, uuid)).upgrade(order);
  }

  async startShadow(user: User, uuid: string, order: ShadowOrder): Promise<ShadowRecord> {
    const { shadow } = await this.#expectHeld(user, uuid);
    await expectMinutes(this.#deps.sql, user.uuid);
    return shadow.start(user, order);
  }

  async readShadow(user: User, uuid: string): Promise<ShadowRecord> {
    return (await this.#expectHeld(user, uuid)).shadow.read();
  }

  async stopShadow(user: User, uuid: string): Promise<ShadowRecord> {
    return (await this.#expectHeld(user, uuid)).shadow.stop();
  }

  async attachBranch(user: User, uuid: string, branch: Pick<NewBranch, "slot" | "params">): Promise<BranchState> {
    return (await this.#expectHeld(user, uuid)).commands.attachBranch(user, branch);
  }

  async detachBranch(user: User, uuid: string, branchUuid: string): Promise<void> {
    await (await this.#expectHeld(user, uuid)).commands.detachBranch(branchUuid);
  }

  async listBranches(user: User, uuid: string): Promise<BranchList> {
    const { attachments, commands } = await this.#expectHeld(user, uuid);
    return { branches: attachments.branches.states, slots: commands.clientSlots };
  }

  async describe(user: User, uuid: string, format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return (await this.#expectHeld(user, uuid)).commands.describe(format);
  }

  async seeEdge(user: User, uuid: string, from: string, to: string): Promise<SeenEdge> {
    return (await this.#expectHeld(user, uuid)).commands.seeEdge(from, to);
  }

  async openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void> {
    const { telemetry } = (await this.#expectActive(user, uuid)).record;
    if (telemetry === null) throw refuseTelemetry();
    return telemetry.expectReceiver();
  }

  /** A process of this node that runs on this source and receives telemetry; null: there is none. */
  findOnSource(user: User, sourceUuid: string): Process | null {
    const running = this.#registry
      .ofUser(user.uuid)
      .filter(({ row, record, isLeaving }) => row.sourceUuid === sourceUuid && record.isActive && !isLeaving);
    return running.find(({ record }) => record.telemetry !== null) ?? null;
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
    const { attachments } = await this.#expectActive(user, uuid);
    attachments.expectSlot(slot);
    return attachments.feed.watch(slot, listener);
  }

  #find(user: User, uuid: string): Process | null {
    const process = this.#registry.get(uuid);
    return process?.row.userUuid === user.uuid && !process.isLeaving ? process : null;
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
    throw isEnd(state) ? hasEnded(state) : notHere();
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
    await this.#registry.stopElsewhere(process.row.userUuid, process.row.uuid);
    await this.#registry.metering.flush();
  }
}

const isRejection = (error: unknown): boolean =>
  error instanceof ServiceError && error.code !== "database_unavailable" && error.code !== "internal_error";
