/**
 * One pipeline of a running graph, from built to closed. A graph that must be relaunched gets a new one.
 *
 * Owns: the pipeline, the handlers of its TypeScript nodes and the drivers of its composites. `close` ends them in that
 * order: drivers first (nothing new comes in), then the pipeline, then what handlers it never got to.
 */
import type { AnyElement, Driver, DriverServices, ElementEvent, Job, Services } from "../../elements/element.ts";
import { preferFactories } from "../../native/gstreamer.ts";
import { type BusMessage, type NativeSegment, Pipeline } from "../../native/pipeline.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../compiler/plan.ts";
import { GraphFailure } from "./events.ts";
import { type BoundHandler, createHandler, failureOf } from "./handlers.ts";
import { startIngest } from "./ingest.ts";
import type { LatencyReading } from "./latency.ts";
import { LIMITS, within } from "./limits.ts";
import { findPacedFile, seekWhenReady } from "./position.ts";
import { Post } from "./post.ts";
import { encodeProperties, entryOf, toNative } from "./segment.ts";
import { StuckFrames } from "./stuck-frames.ts";

export interface LaunchHost {
  emit(node: string, event: ElementEvent): void;
  log(level: "debug" | "info" | "warn" | "error", node: string, message: string, fields?: JsonRecord): void;
  print(line: string): Promise<void>;
  send(node: string, channel: string, message: JsonRecord): Promise<void>;
  show?(node: string, captureNs: bigint, bytes: Uint8Array): boolean;
  /** Whether the graph can do without what that native node belongs to: then its failure does not end it. */
  spare(node: string, failure: GraphFailure): boolean;
  readonly job: Job;
  /** Where files begin. */
  readonly fromNs: bigint;
  /** How long a handler may keep frames waiting; null: for ever. */
  readonly frameLimitMs: number | null;
  /** About to close: the last moment at which the pipeline can be asked anything. */
  closing(): void;
}

/** The pipeline turned out to be live, and its plan is for one that is not: it needs another plan. */
export class FoundLive extends Error {
  override readonly name = "FoundLive";
}

/** A segment in the pipeline, and who works for it. */
interface Attached {
  readonly segment: PlanSegment;
  readonly handlers: ReadonlyMap<string, BoundHandler>;
  readonly drivers: Driver[];
  /** Closed when the nodes are gone. */
  readonly opened: Driver[];
}

export class Launch {
  readonly pipeline: Pipeline;
  /** Resolves at the end of the stream or when closed, rejects with what broke. */
  readonly ended: Promise<void>;
  #plan: GraphPlan;
  readonly #elements: ReadonlyMap<string, AnyElement>;
  readonly #host: LaunchHost;
  readonly #attached = new Map<string, Attached>();
  #finish: (failure?: GraphFailure) => void = () => {};
  #playing = false;
  readonly #post = new Post();
  readonly #stuck: StuckFrames;
  #closing: Promise<void> | undefined;
  /** Rejects when the launch is closed: nothing that is under way is waited for then. */
  readonly #cut: Promise<never>;
  #cutOff: () => void = () => {};

  constructor(plan: GraphPlan, elements: ReadonlyMap<string, AnyElement>, epochNs: bigint | null, host: LaunchHost) {
    this.#plan = plan;
    this.#elements = elements;
    this.#host = host;
    this.pipeline = new Pipeline({ name: plan.graph, epochNs });
    this.ended = new Promise((resolve, reject) => {
      this.#finish = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    this.#cut = new Promise((_, reject) => {
      this.#cutOff = () => reject(new Error("the graph was stopped"));
    });
    this.ended.catch(() => {}); // whoever cares awaits them
    this.#cut.catch(() => {});
    this.#stuck = new StuckFrames({
      limitMs: host.frameLimitMs,
      handlers: () => [...this.#attached.values()].flatMap(({ handlers }) => [...handlers]),
      warn: (author, message) => host.log("warn", author, message),
      fail: (node, failure) => this.#fail(node, failure),
    });
    void this.#readBus();
  }

  get plan(): GraphPlan {
    return this.#plan;
  }

  /** The plan that the pipeline has been brought to by `set`, `attach` and `detach`; `segments` are all its segments. */
  adopt(plan: GraphPlan, segments: readonly PlanSegment[]): void {
    this.#plan = plan;
    for (const segment of segments) {
      const attached = this.#attached.get(segment.name);
      if (attached !== undefined) this.#attached.set(segment.name, { ...attached, segment });
    }
  }

  /** Built and playing, or rejected and closed. `prepare` comes between the two: no frame is missed by what it adds. */
  async start(prepare: () => Promise<void>): Promise<void> {
    try {
      await Promise.race([this.#start(prepare), this.#cut]);
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  async #start(prepare: () => Promise<void>): Promise<void> {
    preferFactories(this.plan.prefer);
    await this.#add(this.plan.main, (native) => this.pipeline.build(native));
    for (const branch of this.plan.branches) await this.attach(branch);
    await prepare();
    if (this.#host.fromNs > 0n) await this.#goTo(this.#host.fromNs);
    // A live source cannot be waited for: it is the drivers that bring its first data, and they need it playing.
    const { live } = this.plan;
    const isLive = await this.pipeline.setState("PLAYING", live ? 0 : LIMITS.startMs, !live);
    if (isLive && !live) throw new FoundLive();
    this.#playing = true;
    for (const attached of this.#attached.values()) await this.#drive(attached);
  }

  /** Nothing gets past the pace of the source before it plays: no frame comes from before the position. */
  async #goTo(positionNs: bigint): Promise<void> {
    const node = findPacedFile(this.plan);
    if (node === undefined) return;
    await this.pipeline.setState("PAUSED", LIMITS.startMs);
    const over = Promise.race([this.ended, this.#cut]);
    if (await seekWhenReady(this.pipeline, node, positionNs, over)) return;
    this.#host.log("warn", this.#author(node), "it has no positions to begin at: it begins anew");
  }

  /** A live source is let go of, since what it shows meanwhile is not wanted; anything else stands still. */
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

  #pausable(): readonly Driver[] {
    return [...this.#attached.values()].flatMap(({ drivers }) => drivers).filter(({ pause }) => pause !== undefined);
  }

  /** How many elements listened. */
  deliver(channel: string, message: JsonRecord): number {
    return this.#post.deliver(channel, message);
  }

  /** Behind the last frame that each TypeScript sink of the graph itself has had; null before the first. */
  positionNs(): bigint | null {
    const positions = this.#sinks().flatMap(({ reachedNs }) => reachedNs ?? []);
    return positions.reduce<bigint | null>((least, at) => (least === null || at < least ? at : least), null);
  }

  /** From when pictures were taken to the first TypeScript sink of the graph itself; null without one. */
  latencyMs(): LatencyReading | null {
    return this.#sinks()[0]?.latency.read() ?? null;
  }

  /** What is attached comes and goes, and is not the graph itself. */
  #sinks(): readonly BoundHandler[] {
    const own = [this.plan.main, ...this.plan.branches].flatMap(({ name }) => this.#attached.get(name) ?? []);
    return own.flatMap(({ handlers }) => [...handlers.values()]).filter(({ isSink }) => isSink);
  }

  /** Adds a branch to the tee it hangs on; at any time. */
  async attach(segment: PlanSegment): Promise<void> {
    const entry = entryOf(segment);
    await this.#add(segment, (native) => this.pipeline.addBranch(segment.name, entry, native));
  }

  /** Takes a branch out once its sinks have seen the end. Rejects when it had to be cut off, or is still there. */
  async detach(name: string, limitMs: number = LIMITS.branchMs): Promise<void> {
    const attached = this.#attached.get(name);
    if (attached === undefined) throw new Error(`"${name}" is not attached`);
    await closeDrivers([attached]);
    try {
      await this.pipeline.removeBranch(name, limitMs);
    } finally {
      this.#attached.delete(name);
      await leave(attached);
    }
  }

  /** Segments in the pipeline now, main first. */
  segments(): readonly PlanSegment[] {
    return [...this.#attached.values()].map(({ segment }) => segment);
  }

  /** Rejects when the element refuses. */
  async set(node: PlanNode, values: Readonly<Record<string, JsonRecord[string] | undefined>>): Promise<void> {
    const handler = [...this.#attached.values()].map(({ handlers }) => handlers.get(node.name)).find(Boolean);
    if (handler !== undefined) {
      const all = Object.entries({ ...node.properties, ...values }).filter(([, value]) => value !== undefined);
      await handler.update(Object.fromEntries(all) as JsonRecord);
    }
    // For TypeScript elements this only keeps what GStreamer shows of them true: the handler has it already.
    await this.pipeline.set(node.name, encodeProperties(node, this.#elements, values));
  }

  /** Asks every source to end; what is on its way still arrives. */
  async endOfStream(): Promise<void> {
    const closing = closeDrivers(this.#attached.values());
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
      this.#host.closing();
    } catch (error) {
      this.#host.log("warn", this.plan.graph, `a last reading failed: ${String(error)}`);
    }
    const attached = [...this.#attached.values()];
    const outcomes = await Promise.allSettled([closeDrivers(attached), this.pipeline.close(LIMITS.closeMs)]);
    const left = await Promise.allSettled(attached.map(leave));
    this.#attached.clear();
    this.#finish();
    for (const outcome of [...outcomes, ...left]) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** Opens what a segment needs, then makes its nodes; all or nothing, also when the launch is closed meanwhile. */
  async #add(segment: PlanSegment, build: (native: NativeSegment) => Promise<void>): Promise<void> {
    const opened = await this.#open(segment);
    const handlers = await this.#createHandlers(segment).catch(async (error) => {
      await closeAll(opened).catch(() => {});
      throw error;
    });
    const attached: Attached = { segment, handlers, drivers: [], opened };
    try {
      if (this.#closing !== undefined) await this.#cut;
      await build(toNative(segment, this.#elements, handlers));
      if (this.#closing !== undefined) await this.#cut;
      this.#attached.set(segment.name, attached);
    } catch (error) {
      await leave(attached).catch((cause) => this.#host.log("warn", segment.name, String(cause)));
      throw error;
    }
    if (this.#playing) await this.#drive(attached);
  }

  async #open(segment: PlanSegment): Promise<Driver[]> {
    const opened: Driver[] = [];
    for (const { author, element, properties } of segment.drivers) {
      const definition = this.#element(element);
      if (definition.kind !== "composite" || definition.open === undefined) continue;
      const services = { ...this.#services(author), source: this.plan.source };
      try {
        const opening = (async () => definition.open?.(properties, services))();
        const open = await within(LIMITS.createMs, `"${author}" was not ready`, opening);
        if (open !== undefined) opened.push(open);
      } catch (cause) {
        await closeAll(opened).catch(() => {});
        throw failureOf(author, cause);
      }
    }
    return opened;
  }

  async #createHandlers(segment: PlanSegment): Promise<ReadonlyMap<string, BoundHandler>> {
    const nodes = segment.nodes.filter((node) => node.kind === "typescript");
    const made = await Promise.allSettled(
      nodes.map(
        async (node) =>
          [node.name, await createHandler(this.#element(node.element), node, this.#services(node.author))] as const,
      ),
    );
    const handlers = new Map(made.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])));
    const broken = made.find((outcome) => outcome.status === "rejected");
    if (broken !== undefined) {
      await closeHandlers(handlers).catch(() => {});
      throw broken.reason;
    }
    return handlers;
  }

  async #drive({ segment, drivers }: Attached): Promise<void> {
    for (const { author, element, properties } of segment.drivers) {
      const definition = this.#element(element);
      if (definition.kind !== "composite" || definition.drive === undefined) continue;
      const [first] = segment.nodes.filter((node) => node.author === author);
      if (first === undefined) continue;
      const driving = (async () => definition.drive?.(properties, this.#driverServices(author, first.name)))();
      const driver = await driving.catch((cause) => Promise.reject(failureOf(author, cause)));
      if (driver === undefined) continue;
      drivers.push(driver);
      // Closed while it was being made: what closes drivers has been here already.
      if (this.#closing !== undefined || !this.#attached.has(segment.name)) await closeDrivers([{ drivers }]);
    }
  }

  #element(name: string): AnyElement {
    const element = this.#elements.get(name);
    if (element === undefined) throw new Error(`the plan names an element "${name}" that is not loaded`);
    return element;
  }

  #services(node: string): Services {
    const log =
      (level: "debug" | "info" | "warn" | "error") =>
      (message: string, fields?: JsonRecord): void =>
        this.#host.log(level, node, message, fields);
    return {
      node,
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      emit: (event) => this.#host.emit(node, event),
      print: (line) => this.#host.print(line),
      send: (channel, message) => this.#host.send(node, channel, message),
      listen: (channel, take) => this.#post.listen(channel, take),
      ...(this.#host.show && {
        show: (captureNs: bigint, bytes: Uint8Array) => this.#host.show?.(node, captureNs, bytes) ?? false,
      }),
      job: this.#host.job,
    };
  }

  #driverServices(author: string, appsrc: string): DriverServices {
    return {
      ...this.#services(author),
      source: this.plan.source,
      fail: (error) => this.#finish(failureOf(author, error)),
      endOfStream: () => this.pipeline.relayEnd(appsrc),
      ingest: (expansion) => startIngest(this.pipeline, appsrc, expansion),
    };
  }

  async #readBus(): Promise<void> {
    for await (const message of this.pipeline.messages()) this.#take(message);
  }

  #take(message: BusMessage): void {
    if (message.type === "eos") this.#finish();
    else if (message.type === "error")
      this.#fail(message.node, new GraphFailure(this.#author(message.node), message.message, message.debug));
    else if (message.type === "warning")
      this.#host.log("warn", this.#author(message.node), message.message, { debug: message.debug });
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

/** The nodes are gone: what worked for them and what was opened for them goes too. */
async function leave({ handlers, opened }: Attached): Promise<void> {
  await settleAll([closeHandlers(handlers), closeAll(opened)]);
}

async function closeHandlers(handlers: ReadonlyMap<string, BoundHandler>): Promise<void> {
  await settleAll([...handlers.values()].map((handler) => handler.close()));
}

async function closeDrivers(attached: Iterable<Pick<Attached, "drivers">>): Promise<void> {
  await settleAll([...attached].map(({ drivers }) => closeAll(drivers)));
}

async function closeAll(drivers: Driver[]): Promise<void> {
  const closings = drivers.splice(0).map(async (driver) => driver.close());
  await settleAll(closings.map((closing) => within(LIMITS.closeMs, "a source or file did not close", closing)));
}

/** All of them, whatever one of them says; rejects with the first that did. */
async function settleAll(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(promises)) if (outcome.status === "rejected") throw outcome.reason;
}
