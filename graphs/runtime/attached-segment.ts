/**
 * One segment in the pipeline, with the handlers of its TypeScript nodes and the drivers of its composites. Drivers from
 * `open` live as long as the nodes; drivers from `drive` are closed before the nodes are removed.
 */
import type { AnyElement, Driver, DriverServices, OpenServices } from "../../elements/element.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import type { PlanSegment } from "../compiler/plan.ts";
import { type BoundHandler, createHandler, failureOf, type Replacement } from "./handlers.ts";
import { LIMITS, withTimeout } from "./limits.ts";

export interface SegmentDeps {
  element(name: string): AnyElement;
  services(author: string): OpenServices;
  /** `appsrc`: the first node of the composite. */
  driverServices(author: string, appsrc: string): DriverServices;
}

export class AttachedSegment {
  segment: PlanSegment;
  readonly handlers: ReadonlyMap<string, BoundHandler>;
  readonly #deps: SegmentDeps;
  readonly #opened: Driver[];
  readonly #drivers: Driver[] = [];

  private constructor(
    segment: PlanSegment,
    handlers: ReadonlyMap<string, BoundHandler>,
    opened: Driver[],
    deps: SegmentDeps,
  ) {
    this.segment = segment;
    this.handlers = handlers;
    this.#opened = opened;
    this.#deps = deps;
  }

  /** Opens what the segment needs and creates its handlers, before its nodes exist. All or nothing. */
  static async create(segment: PlanSegment, deps: SegmentDeps): Promise<AttachedSegment> {
    const opened: Driver[] = [];
    try {
      for (const driver of segment.drivers) {
        const open = await openDriver(driver, deps);
        if (open !== undefined) opened.push(open);
      }
      return new AttachedSegment(segment, await createHandlers(segment, deps), opened, deps);
    } catch (error) {
      await closeAll(opened).catch(() => {});
      throw error;
    }
  }

  /** Once its nodes are there, before they have data. */
  async tap(pipeline: Pick<Pipeline, "tapPackets">): Promise<void> {
    for (const { author, element, properties } of this.segment.drivers) {
      const definition = this.#deps.element(element);
      const nodes = this.segment.nodes.filter((node) => node.author === author);
      if (definition.kind !== "composite" || definition.tap === undefined || nodes[0] === undefined) continue;
      const tap = await definition.tap(properties, this.#deps.driverServices(author, nodes[0].name));
      if (tap === null) continue;
      for (const { name } of nodes) pipeline.tapPackets(name, tap.caps, (packet) => tap.onPacket(packet));
    }
  }

  /** Starts the drivers once the pipeline plays. `isClosed`: the segment was closed meanwhile. */
  async drive(isClosed: () => boolean): Promise<void> {
    for (const { author, element, properties } of this.segment.drivers) {
      const definition = this.#deps.element(element);
      const first = this.segment.nodes.find((node) => node.author === author);
      if (definition.kind !== "composite" || definition.drive === undefined || first === undefined) continue;
      const services = this.#deps.driverServices(author, first.name);
      const driving = (async () => definition.drive?.(properties, services))();
      const driver = await driving.catch((cause) => Promise.reject(failureOf(author, cause)));
      if (driver === undefined) continue;
      this.#drivers.push(driver);
      if (isClosed()) await this.closeDrivers();
    }
  }

  /** New versions of the handlers of the element. */
  prepare(element: AnyElement): readonly Promise<Replacement>[] {
    return this.segment.nodes.flatMap((node) => {
      const handler = node.element === element.name ? this.handlers.get(node.name) : undefined;
      return handler === undefined ? [] : [handler.prepare(element, node)];
    });
  }

  /** Drivers of live sources, which pause by disconnecting. */
  get pausable(): readonly Driver[] {
    return this.#drivers.filter(({ pause }) => pause !== undefined);
  }

  closeDrivers(): Promise<void> {
    return closeAll(this.#drivers);
  }

  /** After its nodes are removed. */
  async close(): Promise<void> {
    await settleAll([closeHandlers(this.handlers), closeAll(this.#opened)]);
  }
}

async function openDriver({ author, element, properties }: PlanSegment["drivers"][number], deps: SegmentDeps) {
  const definition = deps.element(element);
  if (definition.kind !== "composite" || definition.open === undefined) return undefined;
  try {
    const opening = (async () => definition.open?.(properties, deps.services(author)))();
    return await withTimeout(LIMITS.createMs, `"${author}" was not ready`, opening);
  } catch (cause) {
    throw failureOf(author, cause);
  }
}

async function createHandlers({ nodes }: PlanSegment, deps: SegmentDeps): Promise<ReadonlyMap<string, BoundHandler>> {
  const made = await Promise.allSettled(
    nodes
      .filter((node) => node.kind === "typescript")
      .map(async (node) => {
        const handler = await createHandler(deps.element(node.element), node, deps.services(node.author));
        return [node.name, handler] as const;
      }),
  );
  const handlers = new Map(made.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])));
  const failed = made.find((outcome) => outcome.status === "rejected");
  if (failed === undefined) return handlers;
  await closeHandlers(handlers).catch(() => {});
  throw failed.reason;
}

async function closeHandlers(handlers: ReadonlyMap<string, BoundHandler>): Promise<void> {
  await settleAll([...handlers.values()].map((handler) => handler.close()));
}

async function closeAll(drivers: Driver[]): Promise<void> {
  const closings = drivers.splice(0).map(async (driver) => driver.close());
  await settleAll(closings.map((closing) => withTimeout(LIMITS.closeMs, "a source or file did not close", closing)));
}

/** Waits for all; rejects with the first rejection. */
export async function settleAll(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(promises)) if (outcome.status === "rejected") throw outcome.reason;
}
