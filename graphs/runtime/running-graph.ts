/**
 * A graph that runs: started, changed while it runs, ended. Owner: whoever called `start`; `stop` or the end of the
 * stream closes everything in it.
 */
import type { AnyElement } from "../../elements/element.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Registry } from "../../schemas/registry.ts";
import type { Compiled } from "../compiler/compile.ts";
import { diffPlans } from "../compiler/diff.ts";
import { GraphFaults } from "../compiler/fault.ts";
import type { GraphPlan, PlanChange, PlanSegment } from "../compiler/plan.ts";
import { type GraphEvent, GraphFailure, type GraphState } from "./events.ts";
import { failureOf } from "./handlers.ts";
import type { LatencyReading } from "./latency.ts";
import { FoundLive, Launch } from "./launch.ts";
import { LIMITS, within } from "./limits.ts";
import { findOrigins } from "./origins.ts";

const NO_UUID = "00000000-0000-0000-0000-000000000000";

export interface RunOptions {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  /** Called in order, never concurrently; must not block. */
  onEvent?(event: GraphEvent): void;
  /** Where `print` and its like write; resolves when more may be written. */
  print?(line: string): Promise<void>;
  /** Where `detections` and its like send messages; resolves when more may be sent. Default: printed as lines of JSON. */
  send?(node: string, channel: string, message: JsonRecord): Promise<void>;
  /** Of the process that this graph is; default all zeros. */
  readonly uuid?: string;
  /** What messages call the source. Default: what the graph is started on, without credentials. */
  readonly sourceUri?: string;
  /** Where pictures of `feed` go; false when one was dropped. Default: nowhere, which the element says. */
  show?(node: string, captureNs: bigint, bytes: Uint8Array): boolean;
  /** Of the first object, default 1. A process that is started again goes on above the highest id it gave. */
  readonly firstTrackId?: number;
  /** Where in a file at pace `realtime` to begin: no frame before it comes. Streams begin now. Default 0. */
  readonly fromNs?: bigint;
  /** A live source that stays away for so long ends the graph. Default: what the step says. */
  readonly giveUpSeconds?: number;
  /** A handler that keeps frames waiting for so long ends the graph. Default: it is only logged. */
  readonly frameLimitMs?: number;
  /** Unix time of the stream's beginning. Default: now, or 0 at pace `fast`, where nothing may read the clock. */
  readonly epochNs?: bigint;
  /** Aborting it closes everything at once, at whatever moment, without waiting for what is under way. */
  readonly signal?: AbortSignal;
  /** Slots to attach before the first frame. */
  readonly attach?: readonly SlotRequest[];
  /** For elements that listen, before the first frame; again at a relaunch. */
  readonly deliver?: readonly Delivery[];
  /**
   * The pipeline is built and about to play, slots attached: the moment for limits, taps and grabs. Again at a relaunch.
   * `origins` are the nodes that video frames come from.
   */
  onBuilt?(pipeline: Pipeline, segments: readonly PlanSegment[], origins: readonly string[]): void;
  /** The stream is over and the pipeline about to close: the moment for last readings. */
  onClosing?(pipeline: Pipeline, positionNs: bigint | null): void;
}

export interface Delivery {
  readonly channel: string;
  readonly message: JsonRecord;
}

export interface SlotRequest {
  readonly slot: string;
  readonly params: JsonRecord;
  /** Names this attachment; default: counted. */
  readonly instance?: string;
  /** A fault in it takes it out, which the event `dropped` tells; without this it ends the graph. */
  readonly isExpendable?: boolean;
}

export interface RunResult {
  readonly state: "finished" | "failed";
  readonly error: GraphFailure | null;
}

/** One attachment of a slot. */
interface SlotInstance extends SlotRequest {
  readonly instance: string;
}

/** Where a change would lead: the plan, and all segments that hang on its main one. */
interface Target {
  readonly plan: GraphPlan;
  readonly branches: readonly PlanSegment[];
}

export class RunningGraph {
  /** Settles when everything is closed; never rejects. */
  readonly ended: Promise<RunResult>;
  readonly #options: RunOptions;
  #compiled: Compiled;
  /** Its sources turned out to be live: every plan is made for that from then on. */
  #isFoundLive = false;
  #launch: Launch;
  #state: GraphState = "starting";
  #settle: (result: RunResult) => void = () => {};
  /** Slots that are attached, by the name of their segment. */
  readonly #slots = new Map<string, SlotInstance>();
  /** Those that the graph goes on without when they fail, and those that have. */
  readonly #expendable = new Map<string, PlanSegment>();
  readonly #failed = new Set<string>();
  #instances = 0;
  /** Outlives launches. */
  #nextTrackId: number;
  /** Changes are made one after the other. */
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

  /** Rejects with `GraphFaults` for a graph that did not compile, with `GraphFailure` for one that does not start. */
  static async start(compiled: Compiled, options: RunOptions): Promise<RunningGraph> {
    if (compiled.plan === null) throw new GraphFaults(compiled.faults);
    const graph = new RunningGraph(compiled, compiled.plan, options);
    const cut = (): void => void graph.#close(graph.#launch);
    options.signal?.addEventListener("abort", cut);
    void graph.ended.then(() => options.signal?.removeEventListener("abort", cut));
    options.onEvent?.({ type: "state", state: "starting" });
    const prepare = async () => {
      for (const request of options.attach ?? []) {
        const instance = request.instance ?? graph.#nextInstance();
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

  /** The pipeline as it is now; another one after a relaunch. */
  get pipeline() {
    return this.#launch.pipeline;
  }

  segments(): readonly PlanSegment[] {
    return this.#launch.segments();
  }

  /** Attaches a slot; the result names this attachment. */
  attach(slot: string, params: JsonRecord, instance = this.#nextInstance(), isExpendable = false): Promise<string> {
    return this.#inTurn(() => this.#attach({ slot, params, instance, isExpendable }));
  }

  /** Rejects when it had to be cut off, or is still there: then it can be tried again. */
  detach(name: string): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#launch.detach(name);
      } finally {
        if (!this.has(name)) this.#forget(name);
      }
    });
  }

  has(segment: string): boolean {
    return this.segments().some(({ name }) => name === segment);
  }

  /** What going over to that graph would take; changes nothing. */
  preview(next: Compiled): readonly PlanChange[] {
    const { plan, branches } = this.#target(next);
    // Compared with what is really attached: an earlier change may have come only half of its way.
    const attached = this.segments().filter(({ tee }) => tee !== null);
    const changes = diffPlans({ ...this.plan, branches: attached }, { ...plan, branches }, this.#options);
    const relaunches = changes.filter(({ label }) => label === "relaunch");
    return relaunches.length > 0 ? relaunches : changes;
  }

  /**
   * Goes over to that graph by the least that is needed, and says what it was. Attached slots go along; one that the new
   * graph does not have any more is detached. Rejects with what could not be done; what was done before that stays done.
   */
  apply(next: Compiled): Promise<readonly PlanChange[]> {
    return this.#inTurn(async () => {
      const changes = this.preview(next);
      let target = this.#target(next);
      if (changes.some(({ label }) => label === "relaunch"))
        await this.#relaunch(target).catch((error) => {
          if (!(error instanceof FoundLive)) throw error;
          this.#isFoundLive = true;
          target = this.#target(next);
          return this.#launchAgain(target);
        });
      else await this.#change(target, changes);
      this.#compiled = this.#known(next);
      for (const name of this.#slots.keys())
        if (!target.branches.some((branch) => branch.name === name)) this.#forget(name);
      this.#options.onEvent?.({ type: "changed", changes });
      return changes;
    });
  }

  /** The id that the next object gets. */
  get nextTrackId(): number {
    return this.#nextTrackId;
  }

  /** Where to go on after the last frame that every TypeScript sink of the graph itself has dealt with; null before one. */
  get positionNs(): bigint | null {
    return this.#launch.positionNs();
  }

  /** From when pictures were taken to the graph's first TypeScript sink, lately; null without one. Live graphs only. */
  get latencyMs(): LatencyReading | null {
    return this.#launch.latencyMs();
  }

  /** A file stays where it is. A live source is let go of: what it shows meanwhile never comes. */
  pause(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state === "paused") throw new Error("the graph is paused already");
      await this.#launch.pause();
      this.#enter("paused");
    });
  }

  /** A file goes on where it was, a live source with what it shows by then. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state !== "paused") throw new Error("the graph is not paused");
      await this.#launch.resume();
      this.#enter("running");
    });
  }

  /** A message from outside for the elements that listen to the channel; says how many do. */
  deliver(channel: string, message: JsonRecord): number {
    return this.#launch.deliver(channel, message);
  }

  /**
   * Ends the stream, lets what is under way arrive for at most `drainMs`, closes. Resolves with the result; safe to call
   * again.
   */
  stop(drainMs: number = LIMITS.drainMs): Promise<RunResult> {
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  async #stop(drainMs: number): Promise<RunResult> {
    const wasPaused = this.#state === "paused";
    this.#enter("stopping");
    // What is being changed comes to its end first, or is cut off: nothing may start behind the back of a stop.
    await within(drainMs, "a change did not end", this.#changing).catch(() => this.#close(this.#launch));
    if (this.#state !== "stopping") return this.ended;
    if (wasPaused) await this.#launch.pipeline.setState("PLAYING").catch(() => {});
    await this.#drain(this.#launch, drainMs);
    await this.#close(this.#launch);
    return this.ended;
  }

  #nextInstance(): string {
    this.#instances += 1;
    return String(this.#instances);
  }

  async #attach(request: SlotInstance): Promise<string> {
    const { slot, params, instance, isExpendable = false } = request;
    const { segment, faults } = this.#compiled.slot(slot, instance, params);
    if (segment === null) throw new GraphFaults(faults);
    // Before it is there: it may fail at once.
    if (!this.has(segment.name)) this.#expendable.delete(segment.name);
    if (isExpendable) this.#expendable.set(segment.name, segment);
    await this.#launch.attach(segment);
    this.#slots.set(segment.name, request);
    return segment.name;
  }

  #forget(name: string): void {
    this.#slots.delete(name);
    this.#expendable.delete(name);
  }

  #spare(node: string, failure: GraphFailure): boolean {
    const segment = [...this.#expendable.values()].find(({ nodes }) => nodes.some(({ name }) => name === node));
    if (segment === undefined) return false;
    const { name } = segment;
    // One fault brings others with it: the first says why.
    if (this.#failed.has(name)) return true;
    this.#failed.add(name);
    this.#changing = this.#changing.then(() => this.#drop(name, failure.message));
    return true;
  }

  async #drop(name: string, reason: string): Promise<void> {
    if (this.has(name)) {
      // That it did not come to its end is no news.
      await this.#launch.detach(name, LIMITS.failedBranchMs).catch(() => {});
      this.#slots.delete(name);
      this.#options.onEvent?.({ type: "dropped", segment: name, reason });
    }
    this.#failed.delete(name);
  }

  #known(next: Compiled): Compiled {
    return this.#isFoundLive ? next.asLive() : next;
  }

  #target(given: Compiled): Target {
    const next = this.#known(given);
    if (next.plan === null) throw new GraphFaults(next.faults);
    const slots = [...this.#slots.values()].map(
      ({ slot, params, instance }) => next.slot(slot, instance, params).segment,
    );
    return { plan: next.plan, branches: [...next.plan.branches, ...slots.filter((segment) => segment !== null)] };
  }

  #newLaunch(plan: GraphPlan): Launch {
    const epochNs = this.#options.epochNs ?? (plan.live ? BigInt(Date.now()) * 1_000_000n : 0n);
    // GStreamer's own live sources: frames count as taken when they arrive.
    const isReceived = plan.live && plan.source === null;
    return new Launch(plan, this.#options.elements, isReceived ? null : epochNs, {
      emit: (node, event) => this.#options.onEvent?.({ type: "element", node, event }),
      log: (level, node, message, fields) =>
        this.#options.onEvent?.({ type: "log", level, node, message, ...(fields && { fields }) }),
      print: (line) => this.#print(line),
      send: (node, channel, message) =>
        this.#options.send?.(node, channel, message) ?? this.#print(JSON.stringify(message)),
      ...(this.#options.show && { show: this.#options.show.bind(this.#options) }),
      fromNs: this.#options.fromNs ?? 0n,
      job: {
        uuid: this.#options.uuid ?? NO_UUID,
        sourceUri: this.#options.sourceUri ?? maskCredentials(plan.source?.uri ?? ""),
        live: plan.live,
        giveUpSeconds: this.#options.giveUpSeconds ?? null,
        nextTrackId: () => this.#nextTrackId++,
      },
      spare: (node, failure) => this.#spare(node, failure),
      frameLimitMs: this.#options.frameLimitMs ?? null,
      closing: () => this.#options.onClosing?.(this.pipeline, this.positionNs),
    });
  }

  async #print(line: string): Promise<void> {
    await this.#options.print?.(line);
  }

  /** Begins again as a live graph; nothing has been told of the first launch yet. */
  #adoptLive(): void {
    this.#isFoundLive = true;
    this.#compiled = this.#known(this.#compiled);
    if (this.#compiled.plan === null) throw new GraphFaults(this.#compiled.faults);
    this.#slots.clear();
    this.#expendable.clear();
    this.#instances = 0;
    this.#launch = this.#newLaunch(this.#compiled.plan);
  }

  /** Starts the present launch and follows it to its end; a failure is the graph's end. */
  async #startLaunch(prepare: () => Promise<void>): Promise<void> {
    const launch = this.#launch;
    try {
      this.#options.signal?.throwIfAborted();
      await launch.start(async () => {
        await prepare();
        for (const { channel, message } of this.#options.deliver ?? []) launch.deliver(channel, message);
        const segments = this.segments();
        this.#options.onBuilt?.(this.pipeline, segments, findOrigins(segments, this.#options.registry));
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
    await this.#close(launch);
    this.#finish(this.#state === "stopping" && error !== null && this.#isInterruption(error) ? null : error);
  }

  #finish(error: GraphFailure | null): void {
    const state = error === null ? "finished" : "failed";
    this.#enter(state, error?.message);
    this.#settle({ state, error });
  }

  /** Lets what is under way arrive. Cut off after its limit, which is said: the last part of a file may be missing. */
  async #drain(launch: Launch, limitMs: number = LIMITS.drainMs): Promise<void> {
    const drained = launch.endOfStream().then(() => launch.ended);
    try {
      await within(limitMs, "the stream did not come to its end", drained);
    } catch (error) {
      if (!(error instanceof GraphFailure)) this.#log("warn", `cut off: ${(error as Error).message}`);
    }
  }

  async #close(launch: Launch): Promise<void> {
    await launch.close().catch((error) => this.#log("warn", (error as Error).message));
  }

  /** What was told to end while it still looked at the beginning complains; that is what was asked for, no fault. */
  #isInterruption({ node }: GraphFailure): boolean {
    const nodes = [this.plan.main, ...this.plan.branches].flatMap((segment) =>
      segment.nodes.filter(({ author }) => author === node),
    );
    return nodes.some(({ factory }) => INTERRUPTIBLE.test(this.#options.registry.get(factory)?.klass ?? ""));
  }

  async #change({ plan, branches }: Target, changes: readonly PlanChange[]): Promise<void> {
    const nodes = new Map(
      this.segments().flatMap((segment) => segment.nodes.map((node) => [node.name, node] as const)),
    );
    // All new values of a node at once: its handler sees one update.
    const values = new Map<string, Record<string, Json | undefined>>();
    for (const change of changes)
      if (change.label === "live")
        values.set(change.node, { ...values.get(change.node), [change.property]: change.to });
    for (const [name, properties] of values) {
      const node = nodes.get(name);
      if (node === undefined) continue;
      await this.#launch.set(node, properties).catch((cause: Error) => {
        throw new Error(`${node.author} refuses ${Object.keys(properties).join(", ")}: ${cause.message}`, { cause });
      });
    }
    for (const change of changes) {
      if (change.label !== "branch") continue;
      const branch = branches.find(({ name }) => name === change.segment);
      if (change.action === "detach") await this.#launch.detach(change.segment);
      else if (branch !== undefined) await this.#launch.attach(branch);
    }
    this.#launch.adopt(plan, [plan.main, ...branches]);
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
      throw new Error("the graph was stopped before it was launched again");
    }
    await this.#launchAgain(target);
  }

  async #launchAgain({ plan, branches }: Target): Promise<void> {
    this.#launch = this.#newLaunch(plan);
    const slots = branches.filter((branch) => !plan.branches.includes(branch));
    await this.#startLaunch(async () => {
      for (const slot of slots) await this.#launch.attach(slot);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(() => {
      if (this.#state !== "running" && this.#state !== "paused")
        throw new Error(`the graph is ${this.#state}: it cannot be changed any more`);
      return work();
    });
    this.#changing = turn.catch(() => {});
    return turn;
  }

  #log(level: "warn", message: string): void {
    this.#options.onEvent?.({ type: "log", level, node: this.plan.graph, message });
  }

  /** Never back: what ends does not run again, and what has ended is over. */
  #enter(state: GraphState, error?: string): void {
    if (this.#state === state || RANK[state] < RANK[this.#state]) return;
    this.#state = state;
    this.#options.onEvent?.({ type: "state", state, ...(error === undefined ? {} : { error }) });
  }
}

/** Sources, demuxers, and the bins that choose parsers and decoders by what comes first. */
const INTERRUPTIBLE = /Source|Demux|Generic\/Bin/;

const RANK = { starting: 0, running: 1, paused: 1, stopping: 2, finished: 3, failed: 3 } as const;

/** The bus knows better than the state change that failed because of it. The launch must be closed. */
async function whyFailed(launch: Launch, error: unknown): Promise<GraphFailure> {
  const told = await launch.ended.then(
    () => null,
    (failure: GraphFailure) => failure,
  );
  if (told !== null) return told;
  return error instanceof GraphFailure ? error : failureOf(null, error);
}
