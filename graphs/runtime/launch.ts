/**
 * One pipeline of a running graph, from built to closed. A graph that must be relaunched gets a new one.
 *
 * Owns: the pipeline, the handlers of its TypeScript nodes and the drivers of its composites. `close` ends them in that
 * order: drivers first (nothing new comes in), then the pipeline, then what handlers it never got to.
 */
import type { AnyElement, Driver, DriverServices, ElementEvent, Services } from "../../elements/element.ts";
import { type BusMessage, Pipeline } from "../../native/pipeline.ts";
import { preferFactories } from "../../native/registry.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../compiler/plan.ts";
import { GraphFailure } from "./events.ts";
import { type BoundHandler, createHandler } from "./handlers.ts";
import { startIngest } from "./ingest.ts";
import { LIMITS } from "./limits.ts";
import { encodeProperties, entryOf, toNative } from "./segment.ts";

export interface LaunchHost {
  emit(node: string, event: ElementEvent): void;
  log(level: "debug" | "info" | "warn" | "error", node: string, message: string, fields?: JsonRecord): void;
  print(line: string): Promise<void>;
  /** About to close: the last moment at which the pipeline can be asked anything. */
  closing(): void;
}

interface Attached {
  readonly segment: PlanSegment;
  readonly handlers: ReadonlyMap<string, BoundHandler>;
}

export class Launch {
  readonly pipeline: Pipeline;
  /** Resolves at the end of the stream, rejects with what broke. */
  readonly ended: Promise<void>;
  #plan: GraphPlan;
  readonly #elements: ReadonlyMap<string, AnyElement>;
  readonly #host: LaunchHost;
  readonly #attached = new Map<string, Attached>();
  readonly #drivers: Driver[] = [];
  #finish: (failure?: GraphFailure) => void = () => {};
  #closed: Promise<void> | undefined;

  constructor(plan: GraphPlan, elements: ReadonlyMap<string, AnyElement>, epochNs: bigint, host: LaunchHost) {
    this.#plan = plan;
    this.#elements = elements;
    this.#host = host;
    this.pipeline = new Pipeline({ name: plan.graph, epochNs });
    this.ended = new Promise((resolve, reject) => {
      this.#finish = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    this.ended.catch(() => {}); // whoever cares awaits it
    void this.#readBus();
  }

  get plan(): GraphPlan {
    return this.#plan;
  }

  /** The plan that the pipeline has been brought to by `set`, `attach` and `detach`. */
  adopt(plan: GraphPlan): void {
    this.#plan = plan;
    for (const segment of [plan.main, ...plan.branches]) {
      const attached = this.#attached.get(segment.name);
      if (attached !== undefined) this.#attached.set(segment.name, { ...attached, segment });
    }
  }

  /** Built and playing, or rejected and closed. `prepare` comes between the two: no frame is missed by what it adds. */
  async start(prepare: () => Promise<void>): Promise<void> {
    try {
      preferFactories(this.plan.prefer);
      await this.#build(this.plan.main);
      for (const branch of this.plan.branches) await this.attach(branch);
      await prepare();
      // A live source cannot be waited for: it is the drivers that bring its first data, and they need it playing.
      await this.pipeline.setState("PLAYING", this.plan.live ? 0 : LIMITS.startMs);
      for (const segment of [this.plan.main, ...this.plan.branches]) await this.#drive(segment);
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  /** Adds a branch to the tee it hangs on; at any time. */
  async attach(segment: PlanSegment): Promise<void> {
    if (segment.tee === null) throw new Error(`segment "${segment.name}" is no branch`);
    const handlers = await this.#createHandlers(segment);
    try {
      const native = toNative(segment, this.#elements, handlers);
      await this.pipeline.addBranch(segment.name, segment.tee, entryOf(segment), native);
    } catch (error) {
      await closeAll(handlers);
      throw error;
    }
    this.#attached.set(segment.name, { segment, handlers });
  }

  /** Takes a branch out once its sinks have seen the end. */
  async detach(name: string): Promise<void> {
    const attached = this.#attached.get(name);
    if (attached === undefined) throw new Error(`"${name}" is not attached`);
    this.#attached.delete(name);
    try {
      await this.pipeline.removeBranch(name, LIMITS.branchMs);
    } finally {
      await closeAll(attached.handlers);
    }
  }

  /** Segments in the pipeline now, main first. */
  segments(): readonly PlanSegment[] {
    return [...this.#attached.values()].map(({ segment }) => segment);
  }

  async set(node: PlanNode, values: Readonly<Record<string, JsonRecord[string] | undefined>>): Promise<void> {
    await this.pipeline.set(node.name, encodeProperties(node, this.#elements, values));
  }

  /** Asks every source to end; what is on its way still arrives. */
  async endOfStream(): Promise<void> {
    for (const driver of this.#drivers.splice(0)) await driver.close();
    await this.pipeline.endOfStream();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#host.closing();
    const drivers = await Promise.allSettled(this.#drivers.splice(0).map((driver) => driver.close()));
    const pipeline = await Promise.allSettled([this.pipeline.close(LIMITS.closeMs)]);
    const handlers = await Promise.allSettled([...this.#attached.values()].map(({ handlers }) => closeAll(handlers)));
    this.#attached.clear();
    this.#finish();
    for (const outcome of [...pipeline, ...drivers, ...handlers])
      if (outcome.status === "rejected") throw outcome.reason;
  }

  async #build(segment: PlanSegment): Promise<void> {
    const handlers = await this.#createHandlers(segment);
    this.#attached.set(segment.name, { segment, handlers });
    await this.pipeline.build(toNative(segment, this.#elements, handlers));
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
      await closeAll(handlers);
      throw broken.reason;
    }
    return handlers;
  }

  async #drive(segment: PlanSegment): Promise<void> {
    for (const { author, element, properties } of segment.drivers) {
      const definition = this.#element(element);
      if (definition.kind !== "composite" || definition.drive === undefined) continue;
      const [first] = segment.nodes.filter((node) => node.author === author);
      if (first === undefined) continue;
      this.#drivers.push(await definition.drive(properties, this.#driverServices(author, first.name)));
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
    };
  }

  #driverServices(author: string, appsrc: string): DriverServices {
    return {
      ...this.#services(author),
      source: this.plan.source,
      fail: (error) => this.#finish(new GraphFailure(author, error.message, error.stack)),
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
      this.#finish(new GraphFailure(this.#author(message.node), message.message, message.debug));
    else if (message.type === "warning")
      this.#host.log("warn", this.#author(message.node), message.message, { debug: message.debug });
  }

  /** The author's name of a native node. */
  #author(node: string): string {
    for (const segment of this.segments())
      for (const candidate of segment.nodes) if (candidate.name === node) return candidate.author;
    return node;
  }
}

async function closeAll(handlers: ReadonlyMap<string, BoundHandler>): Promise<void> {
  await Promise.all([...handlers.values()].map((handler) => handler.close()));
}
