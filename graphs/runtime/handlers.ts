/** The handlers of a graph's TypeScript elements: made before the pipeline, closed exactly once, whatever happens. */
import type { AnyElement, Frame, FrameMetadata, Handler, Services } from "../../elements/element.ts";
import type { NativeFrame } from "../../native/frame.ts";
import { registerElement } from "../../native/handlers.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { completeProperties } from "../compiler/element-properties.ts";
import type { PlanNode } from "../compiler/plan.ts";
import { LIMITS, within } from "./limits.ts";
import { nativeProperties } from "./property-kinds.ts";

export interface BoundHandler {
  /** Names the handler to the native element. */
  readonly binding: number;
  close(): Promise<void>;
}

interface Bound extends BoundHandler {
  readonly handler: Handler;
  readonly element: AnyElement;
  readonly services: Services;
}

const bound = new Map<number, Bound>();
let nextBinding = 1;
const registered = new Set<string>();

/** Makes GStreamer know the element; once per name. */
function register(element: AnyElement): void {
  if (element.kind === "composite" || registered.has(element.name)) return;
  registered.add(element.name);
  registerElement({
    name: element.name,
    about: element.about,
    kind: element.kind,
    caps: element.caps,
    access: element.kind === "transform" ? (element.access ?? "read") : "read",
    inFlight: element.kind === "transform" ? (element.inFlight ?? 1) : 1,
    properties: nativeProperties(element.properties),
    create: ({ binding, node }) => adapt(bound.get(binding), node),
    fault(node, error) {
      const message = error instanceof Error ? error.message : String(error);
      for (const { services } of bound.values()) if (services.node === node) services.log.warn(message);
    },
  });
}

/** Only elements write metadata, and only JSON: the native side carries it without knowing. */
const asFrame = (frame: NativeFrame): Frame => frame as NativeFrame & { readonly meta: FrameMetadata };

/** The native side's view of a handler: property names in kebab-case become the definition's own. */
function adapt(entry: Bound | undefined, node: string) {
  if (entry === undefined) throw new Error(`"${node}" was not made by a graph: it has no handler`);
  const { handler, element } = entry;
  return {
    process: (frame: NativeFrame) => handler.process(asFrame(frame)),
    ...(handler.format && { format: handler.format.bind(handler) }),
    ...(handler.flush && { flush: handler.flush.bind(handler) }),
    ...(handler.end && { end: handler.end.bind(handler) }),
    update: (properties: Record<string, unknown>) =>
      handler.update?.(completeProperties(element, properties as JsonRecord) as never),
    close: () => entry.close(),
  };
}

export async function createHandler(element: AnyElement, node: PlanNode, services: Services): Promise<BoundHandler> {
  if (element.kind === "composite") throw new Error(`"${element.name}" is a composite and has no handler`);
  register(element);
  const properties = completeProperties(element, node.properties);
  const making = (async () => element.create(properties, services))();
  let handler: Handler;
  try {
    handler = await within(LIMITS.createMs, `"${node.author}" was not ready`, making);
  } catch (cause) {
    making.then((late) => late.close?.()).catch(() => {}); // came too late: nobody wants it any more
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${node.author}: ${reason}`, { cause });
  }
  const binding = nextBinding++;
  let closing: Promise<void> | undefined;
  const entry: Bound = {
    binding,
    handler,
    element,
    services,
    close() {
      closing ??= (async () => {
        try {
          await handler.close?.();
        } finally {
          bound.delete(binding);
        }
      })();
      return closing;
    },
  };
  bound.set(binding, entry);
  return entry;
}
