/**
 * A running graph: started, changed while PLAYING, relaunched, ended. Owned by the caller of `start`; `stop` or the end of
 * the stream closes everything.
 */
import type { AnyElement } from "../../elements/element.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Compiled } from "../compiler/compile.ts";
import { diffPlans } from "../compiler/diff.ts";
import { GraphFaults } from "../compiler/fault.ts";
import type { GraphPlan, PlanChange, PlanSegment } from "../compiler/plan.ts";
import { GraphFailure, type GraphState } from "./events.ts";
import { failureOf, type LatencyReading } from "./handlers.ts";
import { FoundLive, Launch } from "./launch.ts";
import { LIMITS, withTimeout } from "./limits.ts";
import { skipsFrames } from "./needed-frames.ts";
import type { RunOptions } from "./run-options.ts";
import { type SlotInstance, Slots } from "./slots.ts";
import { findOrigins } from "./sources.ts";

const NO_UUID = "00000000-0000-0000-0000-000000000000";

export interface RunResult {
  readonly state: "finished" | "failed";
  readonly error: GraphFailure | null;
}

/** The result of a change: the plan, and all its branches with those of attached slots. */
interface Target {
  readonly plan: GraphPlan;
  readonly branches: readonly PlanSegment[];
}

export class RunningGraph {
  /** Settles when everything is closed; never rejects. */
  readonly ended: Promise<RunResult>;
  readonly #options: RunOptions;
  #compiled: Compiled;
  /** The sources turned out to be live: every plan is compiled for that from now on. */
  #isFoundLive = false;
  #launch: Launch;
  #state: GraphState = "starting";
  #settle: (result: RunResult) => void = () => {};
  readonly #slots = new Slots();
  /** Survives relaunches. */
  #nextTrackId: number;
  /** A serial queue of changes. */
  #changing: Promise<unknown> = Promise.resolve();
  #relaunching = false;
  #stopping: Promise<RunResult> | undefined;

  constructor(compiled: Compiled, plan: GraphPlan, options: RunOptions) {
    this.#compiled = compiled;
    this.#options = options;
    this.#nextTrackId = options.firstTrackId ?? 1;
    this.#launch = this.#newLaunch(plan);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Rejects with `GraphFaults` when the graph did not compile, with `GraphFailure` when it does not start. */
  static async start(compiled: Compiled, options: RunOptions): Promise<RunningGraph> {
    if (compiled.plan === null) throw new GraphFaults(compiled.faults);
    const graph = new RunningGraph(compiled, compiled.plan, options);
    const cut = (): void => void graph.#close(graph.#launch);
    options.signal?.addEventListener("abort", cut);
    void graph.ended.then(() => options.signal?.removeEventListener("abort", cut));
    options.onEvent?.({ type: "state", state: "starting" });
    const prepare = async () => {
      for (const request of options.attach ?? []) {
        const instance = request.instance ?? graph.#slots.nextInstance();
        await graph.#attach({ ...request, instance }).catch((error) => {
          if (!(error instanceof GraphFaults) || request.isExpendable !== true) throw error;
          options.onEvent?.({ type: "dropped", segment: `${request.slot}:${instance}`, reason: error.message });
        });
      }
    };
    await graph.#startLaunch(prepare).catch((error) => {
      if (!(error instanceof FoundLive)) throw error;
      graph.#adoptLive();
      return graph.#startLaunch(prepare);
    });
    graph.#enter("running");
    return graph;
  }

  get state(): GraphState {
    return this.#state;
  }

  get plan(): GraphPlan {
    return this.#launch.plan;
  }

  /** The current pipeline; a relaunch creates another. */
  get pipeline() {
    return this.#launch.pipeline;
  }

  segments(): readonly PlanSegment[] {
    return this.#launch.segments();
  }

  /** Attaches a slot; resolves with the name of its segment. */
  attach(
    slot: string,
    params: JsonRecord,
    instance = this.#slots.nextInstance(),
    isExpendable = false,
  ): Promise<string> {
    return this.#enqueue(() => this.#attach({ slot, params, instance, isExpendable }));
  }

  /** Rejects when the branch had to be cut off, or is still attached: then `detach` can be repeated. */
  detach(name: string): Promise<void> {
    return this.#enqueue(async () => {
      try {
        await this.#launch.detach(name);
      } finally {
        if (!this.has(name)) this.#slots.delete(name);
      }
    });
  }

  has(segment: string): boolean {
    return this.segments().some(({ name }) => name === segment);
  }

  /** The changes that `apply` would make. */
  preview(next: Compiled): readonly PlanChange[] {
    const { plan, branches } = this.#target(next);
    // Compared with the branches that are really attached: an earlier change may have failed half-way.
    const attached = this.segments().filter(({ tee }) => tee !== null);
    const changes = diffPlans({ ...this.plan, branches: attached }, { ...plan, branches }, this.#options);
    const relaunches = changes.filter(({ label }) => label === "relaunch");
    return relaunches.length > 0 ? relaunches : changes;
  }

  /**
   * Changes to another graph with as few changes as possible, and resolves with them. Attached slots are kept; a slot that
   * the new graph lacks is detached. Rejects at the first change that fails; earlier ones stay applied.
   */
  apply(next: Compiled): Promise<readonly PlanChange[]> {
    return this.#enqueue(async () => {
      const changes = this.preview(next);
      let target = this.#target(next);
      if (changes.some(({ label }) => label === "relaunch"))
        await this.#relaunch(target).catch((error) => {
          if (!(error instanceof FoundLive)) throw error;
          this.#isFoundLive = true;
          target = this.#target(next);
          return this.#launchTarget(target);
        });
      else await this.#launch.change(target.plan, target.branches, changes);
      this.#compiled = this.#adapt(next);
      this.#slots.keep(target.branches.map(({ name }) => name));
      this.#options.onEvent?.({ type: "changed", changes });
      return changes;
    });
  }

  /**
   * Replaces the code of an element between two frames, without a relaunch; resolves with the number of handlers. The
   * owner changes `RunOptions.elements`. Rejects when the new code does not fit, and the old one continues.
   */
  replace(element: AnyElement): Promise<number> {
    return this.#enqueue(() => this.#launch.replace(element));
  }

  /** The id of the next object. */
  get nextTrackId(): number {
    return this.#nextTrackId;
  }

  /** Where to resume: after the last frame that every TypeScript sink of the plan has processed; null before one. */
  get positionNs(): bigint | null {
    return this.#launch.positionNs();
  }

  /** Recent latency from capture to the first TypeScript sink of the plan; null without one. Live graphs only. */
  get latencyMs(): LatencyReading | null {
    return this.#launch.latencyMs();
  }

  /** A file keeps its position. A live source disconnects; its frames are lost meanwhile. */
  pause(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#state === "paused") throw new Error("the graph is already paused");
      await this.#launch.pause();
      this.#enter("paused");
    });
  }

  /** A file continues at its position, a live source with its current frames. */
  resume(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#state !== "paused") throw new Error("the graph is not paused");
      await this.#launch.resume();
      this.#enter("running");
    });
  }

  /** Sends a message to the elements that listen to the channel; returns their number. */
  deliver(channel: string, message: JsonRecord): number {
    return this.#launch.deliver(channel, message);
  }

  /** Asks the element that answers on the channel; null: there is none. */
  ask(channel: string, question: JsonRecord): JsonRecord | null {
    return this.#launch.ask(channel, question);
  }

  /** Sends EOS, drains for at most `drainMs`, closes. Resolves with the result; may be called again. */
  stop(drainMs: number = LIMITS.drainMs): Promise<RunResult> {
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  async #stop(drainMs: number): Promise<RunResult> {
    const wasPaused = this.#state === "paused";
    this.#enter("stopping");
    // A pending change is finished or cut off first, so that it cannot start anything after the stop.
    await withTimeout(drainMs, "a change did not end", this.#changing).catch(() => this.#close(this.#launch));
    if (this.#state !== "stopping") return this.ended;
    if (wasPaused) await this.#launch.pipeline.setState("PLAYING").catch(() => {});
    await this.#drain(this.#launch, drainMs);
    await this.#close(this.#launch);
    return this.ended;
  }

  async #attach(request: SlotInstance): Promise<string> {
    const { slot, params, instance, isExpendable = false } = request;
    const { segment, faults } = this.#compiled.slot(slot, instance, params);
    if (segment === null) throw new GraphFaults(faults);
    this.#slots.expect(segment, isExpendable, this.has(segment.name));
    await this.#launch.attach(segment);
    this.#slots.add(segment.name, request);
    return segment.name;
  }

  #spare(node: string, failure: GraphFailure): boolean {
    const failed = this.#slots.fail(node);
    // One failure causes others; the first has the reason.
    if (failed?.isNew) this.#changing = this.#changing.then(() => this.#drop(failed.name, failure.message));
    return failed !== null;
  }

  async #drop(name: string, reason: string): Promise<void> {
    const isAttached = this.has(name);
    // A failed branch need not reach EOS.
    if (isAttached) await this.#launch.detach(name, LIMITS.failedBranchMs).catch(() => {});
    this.#slots.dropped(name, isAttached);
    if (isAttached) this.#options.onEvent?.({ type: "dropped", segment: name, reason });
  }

  #adapt(next: Compiled): Compiled {
    return this.#isFoundLive ? next.asLive() : next;
  }

  #target(given: Compiled): Target {
    const next = this.#adapt(given);
    if (next.plan === null) throw new GraphFaults(next.faults);
    const slots = this.#slots
      .instances()
      .map(({ slot, params, instance }) => next.slot(slot, instance, params).segment);
    return { plan: next.plan, branches: [...next.plan.branches, ...slots.filter((segment) => segment !== null)] };
  }

  #newLaunch(plan: GraphPlan): Launch {
    const { uuid = NO_UUID, sourceUri, giveUpSeconds = null, terrainFolder = null, epochNs } = this.#options;
    return new Launch(plan, this.#options, {
      // With GStreamer's own live sources the capture time is the time of arrival.
      epochNs:
        plan.live && plan.source === null ? null : (epochNs ?? (plan.live ? BigInt(Date.now()) * 1_000_000n : 0n)),
      job: {
        ...{ uuid, sourceUri: sourceUri ?? maskCredentials(plan.source?.uri ?? ""), live: plan.live },
        ...{ giveUpSeconds, terrainFolder, skipsFrames: skipsFrames(plan) },
        nextTrackId: () => this.#nextTrackId++,
      },
      spare: (node, failure) => this.#spare(node, failure),
    });
  }

  /** Replaces the first launch, of which no event was sent yet, by one for live sources. */
  #adoptLive(): void {
    this.#isFoundLive = true;
    this.#compiled = this.#adapt(this.#compiled);
    if (this.#compiled.plan === null) throw new GraphFaults(this.#compiled.faults);
    this.#slots.clear();
    this.#launch = this.#newLaunch(this.#compiled.plan);
  }

  /** Starts the current launch and handles its end; a failure ends the graph. */
  async #startLaunch(prepare: () => Promise<void>): Promise<void> {
    const launch = this.#launch;
    try {
      this.#options.signal?.throwIfAborted();
      await launch.start(async () => {
        await prepare();
        for (const { channel, message } of this.#options.deliver ?? []) launch.deliver(channel, message);
        const segments = this.segments();
        this.#options.onBuilt?.(this.pipeline, segments, findOrigins(segments, this.#options.registry), this);
      });
    } catch (error) {
      await this.#close(launch);
      if (error instanceof FoundLive) throw error;
      const failure = await whyFailed(launch, error);
      const wanted = this.#state === "stopping";
      this.#finish(wanted ? null : failure);
      throw failure;
    }
    launch.ended.then(
      () => this.#end(launch, null),
      (error) => this.#end(launch, error as GraphFailure),
    );
  }

  async #end(launch: Launch, error: GraphFailure | null): Promise<void> {
    if (this.#relaunching || launch !== this.#launch) return;
    if (error === null && this.#state === "running" && this.#options.repeat?.() === true) {
      await this.#enqueue(() => this.#repeat(launch)).catch(() => {});
      // It runs again, it has ended by that, or it was stopped before.
      if (launch !== this.#launch || this.state === "finished") return;
    }
    await this.#close(launch);
    this.#finish(this.#state === "stopping" && error !== null && this.#isInterruption(error) ? null : error);
  }

  #finish(error: GraphFailure | null): void {
    const state = error === null ? "finished" : "failed";
    this.#enter(state, error?.message);
    this.#settle({ state, error });
  }

  /** Drains the pipeline. A cut-off after the limit is logged: the end of a written file may be missing. */
  async #drain(launch: Launch, limitMs: number = LIMITS.drainMs): Promise<void> {
    const drained = launch.endOfStream().then(() => launch.ended);
    try {
      await withTimeout(limitMs, "the stream did not end", drained);
    } catch (error) {
      if (!(error instanceof GraphFailure)) this.#log("warn", `cut off: ${(error as Error).message}`);
    }
  }

  async #close(launch: Launch): Promise<void> {
    await launch.close().catch((error) => this.#log("warn", (error as Error).message));
  }

  /** A source that is stopped during typefinding posts an error, which is expected. */
  #isInterruption({ node }: GraphFailure): boolean {
    const nodes = [this.plan.main, ...this.plan.branches].flatMap((segment) =>
      segment.nodes.filter(({ author }) => author === node),
    );
    return nodes.some(({ factory }) => INTERRUPTIBLE.test(this.#options.registry.get(factory)?.klass ?? ""));
  }

  async #relaunch(target: Target): Promise<void> {
    this.#relaunching = true;
    try {
      await this.#drain(this.#launch);
      await this.#close(this.#launch);
    } finally {
      this.#relaunching = false;
    }
    if (this.#state === "stopping" || this.#options.signal?.aborted) {
      this.#finish(null);
      throw new Error("the graph was stopped before it was relaunched");
    }
    await this.#launchTarget(target);
  }

  async #repeat(launch: Launch): Promise<void> {
    // A change has relaunched it meanwhile.
    if (launch !== this.#launch) return;
    await this.#close(launch);
    if (this.#state === "running") await this.#launchTarget(this.#target(this.#compiled));
    else this.#finish(null);
  }

  async #launchTarget({ plan, branches }: Target): Promise<void> {
    this.#launch = this.#newLaunch(plan);
    const slots = branches.filter((branch) => !plan.branches.includes(branch));
    await this.#startLaunch(async () => {
      for (const slot of slots) await this.#launch.attach(slot);
    });
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(() => {
      if (this.#state !== "running" && this.#state !== "paused")
        throw new Error(`the graph is ${this.#state} and cannot be changed`);
      return work();
    });
    this.#changing = turn.catch(() => {});
    return turn;
  }

  #log(level: "warn", message: string): void {
    this.#options.onEvent?.({ type: "log", level, node: this.plan.graph, message });
  }

  /** Transitions only lead forward: `stopping` does not return to `running`, and the end is final. */
  #enter(state: GraphState, error?: string): void {
    if (this.#state === state || RANK[state] < RANK[this.#state]) return;
    this.#state = state;
    this.#options.onEvent?.({ type: "state", state, ...(error === undefined ? {} : { error }) });
  }
}

/** Sources, demuxers, and bins that autoplug parsers and decoders. */
const INTERRUPTIBLE = /Source|Demux|Generic\/Bin/;

const RANK = { starting: 0, running: 1, paused: 1, stopping: 2, finished: 3, failed: 3 } as const;

/** An error on the bus is more precise than the failed state change. The launch must be closed. */
async function whyFailed(launch: Launch, error: unknown): Promise<GraphFailure> {
  const reported = await launch.ended.then(
    () => null,
    (failure: GraphFailure) => failure,
  );
  if (reported !== null) return reported;
  return error instanceof GraphFailure ? error : failureOf(null, error);
}
