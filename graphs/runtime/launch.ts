/**
 * One pipeline of a running graph, from built to closed. A relaunch creates a new one.
 *
 * Owns the pipeline and its attached segments. `close` ends drivers first (no new input), then the pipeline, then the
 * handlers that it did not close.
 */
import type { AnyElement, DriverServices, Job, OpenServices, TracedWork } from "../../elements/element.ts";
import { avoidFactories, preferFactories, releaseMemory } from "../../native/gstreamer.ts";
import { type BusMessage, type NativeSegment, Pipeline } from "../../native/pipeline.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { GraphPlan, PlanChange, PlanNode, PlanSegment } from "../compiler/plan.ts";
import { AttachedSegment, type SegmentDeps, settleAll } from "./attached-segment.ts";
import { GraphFailure } from "./events.ts";
import { type BoundHandler, failureOf, type LatencyReading, StuckFrames } from "./handlers.ts";
import { startIngest } from "./ingest.ts";
import { LIMITS } from "./limits.ts";
import { encodeProperties, entryOf, toNative } from "./native-segment.ts";
import { findNeeds } from "./needed-frames.ts";
import type { RunOptions } from "./run-options.ts";
import { findPacedFile, pauseAt } from "./sources.ts";
import { findUsable } from "./verify-decoders.ts";

interface LaunchHost {
  /** Unix time of the stream's beginning; null: capture time is the time of arrival. */
  readonly epochNs: bigint | null;
  readonly job: Job;
  /** Whether the graph continues without the branch of that native node, so that its failure does not end it. */
  spare(node: string, failure: GraphFailure): boolean;
}

type Level = "debug" | "info" | "warn" | "error";

/** The pipeline turned out to be live, but its plan is not: it needs another plan. */
export class FoundLive extends Error {
  override readonly name = "FoundLive";
}

type Listener = (message: JsonRecord) => void;
type Answerer = (question: JsonRecord) => JsonRecord;
type NodeValues = Record<string, Json | undefined>;

export class Launch {
  readonly pipeline: Pipeline;
  /** Resolves at the end of the stream or when closed, rejects with the failure. */
  readonly ended: Promise<void>;
  #plan: GraphPlan;
  readonly #options: RunOptions;
  readonly #host: LaunchHost;
  readonly #attached = new Map<string, AttachedSegment>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #answerers = new Map<string, Set<Answerer>>();
  readonly #stuck: StuckFrames;
  #finish: (failure?: GraphFailure) => void = () => {};
  #playing = false;
  #closing: Promise<void> | undefined;
  /** Rejects when the launch is closed, to abandon pending work. */
  readonly #cut: Promise<never>;
  #cutOff: () => void = () => {};

  constructor(plan: GraphPlan, options: RunOptions, host: LaunchHost) {
    this.#plan = plan;
    this.#options = options;
    this.#host = host;
    this.pipeline = new Pipeline({ name: plan.graph, epochNs: host.epochNs });
    this.ended = new Promise((resolve, reject) => {
      this.#finish = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    this.#cut = new Promise((_, reject) => {
      this.#cutOff = () => reject(new Error("the graph was stopped"));
    });
    this.ended.catch(() => {}); // may reject before a caller awaits it
    this.#cut.catch(() => {});
    this.#stuck = new StuckFrames({
      limitMs: options.frameLimitMs ?? null,
      handlers: () => [...this.#attached.values()].flatMap(({ handlers }) => [...handlers]),
      warn: (author, message) => this.#log("warn", author, message),
      fail: (node, failure) => this.#fail(node, failure),
    });
    void this.#readBus();
  }

  get plan(): GraphPlan {
    return this.#plan;
  }

  /** Segments in the pipeline, main first. */
  segments(): readonly PlanSegment[] {
    return [...this.#attached.values()].map(({ segment }) => segment);
  }

  /** Resolves when PLAYING; otherwise rejects and is closed. `prepare` runs before the first frame. */
  async start(prepare: () => Promise<void>): Promise<void> {
    try {
      await Promise.race([this.#start(prepare), this.#cut]);
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  async #start(prepare: () => Promise<void>): Promise<void> {
    await this.#preferDecoders();
    await this.#add(this.plan.main, (native) => this.pipeline.build(native));
    for (const branch of this.plan.branches) await this.attach(branch);
    await prepare();
    await this.#updateSkipping();
    const { fromNs = 0n } = this.#options;
    if (fromNs > 0n) await this.#seek(fromNs);
    // A live source cannot preroll: its drivers provide the first data, and need the pipeline PLAYING.
    const { live } = this.plan;
    const isLive = await this.pipeline.setState("PLAYING", live ? 0 : LIMITS.startMs, !live);
    if (isLive && !live) throw new FoundLive();
    this.#playing = true;
    for (const attached of this.#attached.values()) await this.#drive(attached);
  }

  /** Those in hardware, as far as they work; with none of them, software decodes. */
  async #preferDecoders(): Promise<void> {
    const { prefer } = this.plan;
    const usable = await findUsable(prefer, this.#options.registry, (decoder, reason) =>
      this.#log("warn", decoder, "hardware decoder not used, decoding in software", { reason }),
    );
    avoidFactories(prefer.filter((name) => !usable.includes(name)));
    preferFactories(usable);
  }

  /** No frame passes the pacing of the source before PLAYING, so none comes from before the position. */
  async #seek(positionNs: bigint): Promise<void> {
    const node = findPacedFile(this.plan);
    if (node === undefined) return;
    const over = Promise.race([this.ended, this.#cut]);
    if (await pauseAt(this.pipeline, node, positionNs, over)) return;
    this.#log("warn", this.#author(node), "source is not seekable; starting at its beginning");
  }

  /** Live sources disconnect, as frames are not wanted meanwhile; any other pipeline is PAUSED. */
  async pause(): Promise<void> {
    const drivers = this.#pausable();
    if (drivers.length === 0) await this.pipeline.setState("PAUSED");
    else await settleAll(drivers.map(async (driver) => driver.pause?.()));
  }

  async resume(): Promise<void> {
    const drivers = this.#pausable();
    if (drivers.length === 0) await this.pipeline.setState("PLAYING");
    for (const driver of drivers) driver.resume?.();
  }

  #pausable() {
    return [...this.#attached.values()].flatMap(({ pausable }) => pausable);
  }

  /** Sends a message to the elements that listen to the channel; returns their number. */
  deliver(channel: string, message: JsonRecord): number {
    const listeners = this.#listeners.get(channel) ?? new Set();
    for (const listener of listeners) listener(message);
    return listeners.size;
  }

  /** Null: no element answers on the channel. */
  ask(channel: string, question: JsonRecord): JsonRecord | null {
    const [answerer] = this.#answerers.get(channel) ?? [];
    return answerer?.(question) ?? null;
  }

  #answer(channel: string, answerer: Answerer): () => void {
    const answerers = this.#answerers.get(channel) ?? new Set();
    this.#answerers.set(channel, answerers.add(answerer));
    return () => void answerers.delete(answerer);
  }

  #listen(channel: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** After the last frame that every TypeScript sink of the plan has processed; null before the first. */
  positionNs(): bigint | null {
    const positions = this.#sinks().flatMap(({ reachedNs }) => reachedNs ?? []);
    return positions.reduce<bigint | null>((least, at) => (least === null || at < least ? at : least), null);
  }

  /** From capture to the first TypeScript sink of the plan; null without one. */
  latencyMs(): LatencyReading | null {
    return this.#sinks()[0]?.latency.read() ?? null;
  }

  /** Without those of attached slots. */
  #sinks(): readonly BoundHandler[] {
    const own = [this.plan.main, ...this.plan.branches].flatMap(({ name }) => this.#attached.get(name) ?? []);
    return own.flatMap(({ handlers }) => [...handlers.values()]).filter(({ isSink }) => isSink);
  }

  /** Attaches a branch to its tee, in any state. */
  async attach(segment: PlanSegment): Promise<void> {
    const entry = entryOf(segment);
    await this.#add(segment, (native) => this.pipeline.addBranch(segment.name, entry, native));
    if (this.#playing) await this.#updateSkipping();
  }

  /** Decodes all frames while a sink needs them. */
  async #updateSkipping(): Promise<void> {
    for (const [node, pause] of findNeeds(this.segments(), this.#options.elements))
      await this.pipeline.set(node, { pause });
  }

  /** Removes a branch after EOS at its sinks. Rejects when it had to be cut off, or is still attached. */
  async detach(name: string, limitMs: number = LIMITS.branchMs): Promise<void> {
    const attached = this.#attached.get(name);
    if (attached === undefined) throw new Error(`"${name}" is not attached`);
    await attached.closeDrivers();
    try {
      await this.pipeline.removeBranch(name, limitMs);
    } finally {
      this.#attached.delete(name);
      await attached.close();
      if (this.#closing === undefined) await this.#updateSkipping();
    }
  }

  /** Applies the changes without a relaunch: properties first, then branches. `branches` are those of the new plan. */
  async change(plan: GraphPlan, branches: readonly PlanSegment[], changes: readonly PlanChange[]): Promise<void> {
    const nodes = new Map(this.segments().flatMap((segment) => segment.nodes.map((node) => [node.name, node])));
    // All values of a node together: its handler gets one update.
    const values = new Map<string, NodeValues>();
    for (const change of changes)
      if (change.label === "live")
        values.set(change.node, { ...values.get(change.node), [change.property]: change.to });
    for (const [name, properties] of values) {
      const node = nodes.get(name);
      if (node === undefined) continue;
      await this.#set(node, properties).catch((cause: Error) => {
        throw new Error(`${node.author} rejects ${Object.keys(properties).join(", ")}: ${cause.message}`, { cause });
      });
    }
    for (const change of changes) {
      if (change.label !== "branch") continue;
      const branch = branches.find(({ name }) => name === change.segment);
      if (change.action === "detach") await this.detach(change.segment);
      else if (branch !== undefined) await this.attach(branch);
    }
    this.#plan = plan;
    for (const segment of [plan.main, ...branches]) {
      const attached = this.#attached.get(segment.name);
      if (attached !== undefined) attached.segment = segment;
    }
    await this.#updateSkipping();
  }

  async #set(node: PlanNode, values: NodeValues): Promise<void> {
    const handler = [...this.#attached.values()].map(({ handlers }) => handlers.get(node.name)).find(Boolean);
    if (handler !== undefined) {
      const all = Object.entries({ ...node.properties, ...values }).filter(([, value]) => value !== undefined);
      await handler.update(Object.fromEntries(all) as JsonRecord);
    }
    // For TypeScript elements this only keeps the GObject properties up to date: the handler has the values already.
    await this.pipeline.set(node.name, encodeProperties(node, this.#options.elements, values));
  }

  /**
   * Replaces the handlers of the element between two frames; resolves with their number. All or none: rejects, and the old
   * ones continue, when one of them cannot be created or does not take over the state.
   */
  async replace(element: AnyElement): Promise<number> {
    const preparing = [...this.#attached.values()].flatMap((attached) => attached.prepare(element));
    const outcomes = await Promise.allSettled(preparing);
    const prepared = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    try {
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
      await settleAll(prepared.map((replacement) => replacement.hold()));
    } catch (error) {
      await Promise.all(prepared.map((replacement) => replacement.discard()));
      throw error;
    }
    for (const replacement of prepared) replacement.commit();
    return prepared.length;
  }

  /** Sends EOS from every source; frames in the pipeline still arrive. */
  async endOfStream(): Promise<void> {
    const closing = this.#closeDrivers();
    await this.pipeline.endOfStream();
    await closing;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cutOff();
    this.#stuck.close();
    try {
      this.#options.onClosing?.(this.pipeline, this.positionNs());
    } catch (error) {
      this.#log("warn", this.plan.graph, `last reading failed: ${String(error)}`);
    }
    const attached = [...this.#attached.values()];
    const outcomes = await Promise.allSettled([this.#closeDrivers(), this.pipeline.close(LIMITS.closeMs)]);
    const left = await Promise.allSettled(attached.map((each) => each.close()));
    this.#attached.clear();
    this.#finish();
    for (const outcome of [...outcomes, ...left]) if (outcome.status === "rejected") throw outcome.reason;
  }

  async #closeDrivers(): Promise<void> {
    await settleAll([...this.#attached.values()].map((attached) => attached.closeDrivers()));
  }

  /** All or nothing, also when the launch is closed meanwhile. */
  async #add(segment: PlanSegment, build: (native: NativeSegment) => Promise<void>): Promise<void> {
    const attached = await AttachedSegment.create(segment, this.#deps);
    try {
      if (this.#closing !== undefined) await this.#cut;
      await build(toNative(segment, this.#options.elements, attached.handlers));
      await attached.tap(this.pipeline);
      if (this.#closing !== undefined) await this.#cut;
      this.#attached.set(segment.name, attached);
    } catch (error) {
      await attached.close().catch((cause) => this.#log("warn", segment.name, String(cause)));
      throw error;
    }
    if (this.#playing) await this.#drive(attached);
  }

  #drive(attached: AttachedSegment): Promise<void> {
    return attached.drive(() => this.#closing !== undefined || !this.#attached.has(attached.segment.name));
  }

  readonly #deps: SegmentDeps = {
    element: (name) => {
      const element = this.#options.elements.get(name);
      if (element === undefined) throw new Error(`the plan names an element "${name}" that is not loaded`);
      return element;
    },
    services: (author) => this.#services(author),
    driverServices: (author, appsrc): DriverServices => ({
      ...this.#services(author),
      fail: (error) => this.#finish(failureOf(author, error)),
      endOfStream: () => this.pipeline.relayEnd(appsrc),
      ingest: (expansion, metadata) => startIngest(this.pipeline, appsrc, expansion, metadata),
      deliver: (channel, message) => void this.deliver(channel, message),
      isHeard: (channel) => (this.#listeners.get(channel)?.size ?? 0) > 0,
    }),
  };

  #services(node: string): OpenServices {
    const options = this.#options;
    const log = (level: Level) => (message: string, fields?: JsonRecord) => this.#log(level, node, message, fields);
    const print = async (line: string) => options.print?.(line);
    return {
      node,
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      emit: (event) => options.onEvent?.({ type: "element", node, event }),
      print,
      send: (channel, message) => options.send?.(node, channel, message) ?? print(JSON.stringify(message)),
      listen: (channel, listener) => this.#listen(channel, listener),
      answer: (channel, answerer) => this.#answer(channel, answerer),
      ...(options.show && {
        show: (captureNs: bigint, bytes: Uint8Array) => options.show?.(node, captureNs, bytes) ?? false,
      }),
      ...(options.keep && { keep: (state: string) => options.keep?.(node, state) }),
      kept: options.kept?.(node) ?? null,
      releaseMemory,
      ...(options.trace && { trace: (work: TracedWork) => options.trace?.(node, work) }),
      job: this.#host.job,
      source: this.plan.source,
    };
  }

  #log(level: Level, node: string, message: string, fields?: JsonRecord): void {
    this.#options.onEvent?.({ type: "log", level, node, message, ...(fields && { fields }) });
  }

  async #readBus(): Promise<void> {
    for await (const message of this.pipeline.messages()) this.#onBusMessage(message);
  }

  #onBusMessage(message: BusMessage): void {
    if (message.type === "eos") this.#finish();
    else if (message.type === "error")
      this.#fail(
        message.node,
        new GraphFailure(this.#author(message.node), message.message, message.debug, { gst: message }),
      );
    else if (message.type === "warning")
      this.#log("warn", this.#author(message.node), message.message, { debug: message.debug });
  }

  #fail(node: string, failure: GraphFailure): void {
    if (!this.#host.spare(node, failure)) this.#finish(failure);
  }

  /** The author's name of a native node. */
  #author(node: string): string {
    const segments = [this.plan.main, ...this.plan.branches, ...this.segments()];
    const found = segments.flatMap((segment) => segment.nodes).find((candidate) => candidate.name === node);
    return found?.author ?? node;
  }
}
