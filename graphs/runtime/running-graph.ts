/**
 * A graph that runs: started, changed while it runs, ended. Owner: whoever called `start`; `stop` or the end of the
 * stream closes everything in it.
 */
import type { AnyElement } from "../../elements/element.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { Registry } from "../../schemas/registry.ts";
import type { Compiled } from "../compiler/compile.ts";
import { diffPlans } from "../compiler/diff.ts";
import { GraphFaults } from "../compiler/fault.ts";
import type { GraphPlan, PlanChange, PlanSegment } from "../compiler/plan.ts";
import { type GraphEvent, GraphFailure, type GraphState } from "./events.ts";
import { Launch } from "./launch.ts";
import { LIMITS, within } from "./limits.ts";

export interface RunOptions {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  /** Called in order, never concurrently; must not block. */
  onEvent?(event: GraphEvent): void;
  /** Where `print` and its like write; resolves when more may be written. */
  print?(line: string): Promise<void>;
  /** Unix time of the stream's beginning. Default: now, or 0 at pace `fast`, where nothing may read the clock. */
  readonly epochNs?: bigint;
  /** Aborting it closes everything at once, at whatever moment, without waiting for what is under way. */
  readonly signal?: AbortSignal;
  /** Slots to attach before the first frame. */
  readonly attach?: readonly SlotRequest[];
  /** The pipeline is built and about to play, slots attached: the moment for limits, taps and grabs. Again at a relaunch. */
  onBuilt?(pipeline: Pipeline, segments: readonly PlanSegment[]): void;
  /** The stream is over and the pipeline about to close: the moment for last readings. */
  onClosing?(pipeline: Pipeline): void;
}

export interface SlotRequest {
  readonly slot: string;
  readonly params: JsonRecord;
}

export interface RunResult {
  readonly state: "finished" | "failed";
  readonly error: GraphFailure | null;
}

export class RunningGraph {
  /** Settles when everything is closed; never rejects. */
  readonly ended: Promise<RunResult>;
  readonly #options: RunOptions;
  #compiled: Compiled;
  #launch: Launch;
  #state: GraphState = "starting";
  #settle: (result: RunResult) => void = () => {};
  #relaunching = false;
  #instances = 0;
  /** Changes are applied one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(compiled: Compiled, plan: GraphPlan, options: RunOptions) {
    this.#compiled = compiled;
    this.#options = options;
    this.#launch = this.#newLaunch(plan);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Rejects with `GraphFaults` for a graph that did not compile, with `GraphFailure` for one that does not start. */
  static async start(compiled: Compiled, options: RunOptions): Promise<RunningGraph> {
    if (compiled.plan === null) throw new GraphFaults(compiled.faults);
    const graph = new RunningGraph(compiled, compiled.plan, options);
    graph.#enter("starting");
    const cut = (): void => void graph.#launch.close().catch((error) => graph.#log("warn", String(error)));
    options.signal?.addEventListener("abort", cut);
    void graph.ended.then(() => options.signal?.removeEventListener("abort", cut));
    try {
      options.signal?.throwIfAborted();
      await graph.#launch.start(async () => {
        for (const { slot, params } of options.attach ?? []) await graph.#attach(slot, params, graph.#nextInstance());
        options.onBuilt?.(graph.pipeline, graph.segments());
      });
    } catch (error) {
      const failure = await graph.#reason(error);
      graph.#enter("failed", failure.message);
      graph.#settle({ state: "failed", error: failure });
      throw failure;
    }
    graph.#enter("running");
    graph.#follow(graph.#launch);
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
  attach(slot: string, params: JsonRecord, instance = this.#nextInstance()): Promise<string> {
    return this.#inTurn(() => this.#attach(slot, params, instance));
  }

  detach(name: string): Promise<void> {
    return this.#inTurn(() => this.#launch.detach(name));
  }

  /** What going over to that graph would take; changes nothing. */
  preview(next: Compiled): readonly PlanChange[] {
    if (next.plan === null) throw new GraphFaults(next.faults);
    return diffPlans(this.plan, next.plan, this.#options);
  }

  /** Goes over to that graph by the least that is needed, and says what it was. */
  apply(next: Compiled): Promise<readonly PlanChange[]> {
    return this.#inTurn(async () => {
      const changes = this.preview(next);
      const plan = next.plan as GraphPlan;
      if (changes.some((change) => change.label === "relaunch")) await this.#relaunch(plan);
      else await this.#change(plan, changes);
      this.#compiled = next;
      this.#options.onEvent?.({ type: "changed", changes });
      return changes;
    });
  }

  async pause(): Promise<void> {
    await this.#inTurn(() => this.#launch.pipeline.setState("PAUSED"));
    this.#enter("paused");
  }

  async resume(): Promise<void> {
    await this.#inTurn(() => this.#launch.pipeline.setState("PLAYING"));
    this.#enter("running");
  }

  /** Ends the stream, lets what is under way arrive, closes. Resolves with the result; safe to call again. */
  async stop(): Promise<RunResult> {
    if (this.#state !== "finished" && this.#state !== "failed" && this.#state !== "stopping") {
      if (this.#state === "paused") await this.resume().catch(() => {});
      this.#enter("stopping");
      const launch = this.#launch;
      try {
        await within(
          LIMITS.drainMs,
          "the stream did not end",
          launch.endOfStream().then(() => launch.ended),
        );
      } catch {
        // Cut off instead: closing below settles `ended`.
      }
      await launch.close().catch((error) => this.#log("warn", String(error)));
    }
    return this.ended;
  }

  #nextInstance(): string {
    this.#instances += 1;
    return String(this.#instances);
  }

  async #attach(slot: string, params: JsonRecord, instance: string): Promise<string> {
    const { segment, faults } = this.#compiled.slot(slot, instance, params);
    if (segment === null) throw new GraphFaults(faults);
    await this.#launch.attach(segment);
    return segment.name;
  }

  #newLaunch(plan: GraphPlan): Launch {
    const epochNs = this.#options.epochNs ?? (plan.live ? BigInt(Date.now()) * 1_000_000n : 0n);
    return new Launch(plan, this.#options.elements, epochNs, {
      emit: (node, event) => this.#options.onEvent?.({ type: "element", node, event }),
      log: (level, node, message, fields) =>
        this.#options.onEvent?.({ type: "log", level, node, message, ...(fields && { fields }) }),
      print: (line) => this.#options.print?.(line) ?? Promise.resolve(),
      closing: () => this.#options.onClosing?.(this.pipeline),
    });
  }

  #follow(launch: Launch): void {
    launch.ended.then(
      () => this.#end(launch, null),
      (error) => this.#end(launch, error as GraphFailure),
    );
  }

  async #end(launch: Launch, error: GraphFailure | null): Promise<void> {
    await launch.close().catch((cause) => this.#log("warn", String(cause)));
    if (this.#relaunching || launch !== this.#launch) return;
    const fault = this.#state === "stopping" && error !== null && this.#isInterruption(error) ? null : error;
    const state = fault === null ? "finished" : "failed";
    this.#enter(state, fault?.message);
    this.#settle({ state, error: fault });
  }

  /** A source that was told to end while it still read the beginning complains; that is what was asked for, no fault. */
  #isInterruption({ node }: GraphFailure): boolean {
    const nodes = [this.plan.main, ...this.plan.branches].flatMap((segment) =>
      segment.nodes.filter(({ author }) => author === node),
    );
    return nodes.some(({ factory }) => /Source|Demux/.test(this.#options.registry.get(factory)?.klass ?? ""));
  }

  /** The bus knows better than the state change that failed because of it. */
  async #reason(error: unknown): Promise<GraphFailure> {
    const told = await this.#launch.ended.then(
      () => null,
      (failure: GraphFailure) => failure,
    );
    if (told !== null) return told;
    return error instanceof GraphFailure
      ? error
      : new GraphFailure(null, (error as Error).message, (error as Error).stack);
  }

  async #change(plan: GraphPlan, changes: readonly PlanChange[]): Promise<void> {
    const branches = new Map(plan.branches.map((branch) => [branch.name, branch]));
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
      if (node !== undefined) await this.#launch.set(node, properties);
    }
    for (const change of changes) {
      if (change.label !== "branch") continue;
      const branch = branches.get(change.segment);
      if (change.action === "detach") await this.#launch.detach(change.segment);
      else if (branch !== undefined) await this.#launch.attach(branch);
    }
    this.#launch.adopt(plan);
  }

  async #relaunch(plan: GraphPlan): Promise<void> {
    const attached = this.segments().filter(({ name }) => name.includes(":"));
    this.#relaunching = true;
    try {
      await this.#launch.close();
      this.#launch = this.#newLaunch(plan);
      await this.#launch.start(async () => {
        for (const segment of attached) await this.#launch.attach(segment);
        this.#options.onBuilt?.(this.pipeline, this.segments());
      });
    } catch (error) {
      const failure = await this.#reason(error);
      this.#enter("failed", failure.message);
      this.#settle({ state: "failed", error: failure });
      throw failure;
    } finally {
      this.#relaunching = false;
    }
    this.#follow(this.#launch);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(() => {
      if (this.#state !== "running" && this.#state !== "paused" && this.#state !== "starting")
        throw new Error(`the graph is ${this.#state}: it cannot be changed any more`);
      return work();
    });
    this.#changing = turn.catch(() => {});
    return turn;
  }

  #log(level: "warn", message: string): void {
    this.#options.onEvent?.({ type: "log", level, node: this.plan.graph, message });
  }

  #enter(state: GraphState, error?: string): void {
    if (this.#state === state && state !== "starting") return;
    this.#state = state;
    this.#options.onEvent?.({ type: "state", state, ...(error === undefined ? {} : { error }) });
  }
}
