/** A plan's segment as the native builder takes it. */
import type { AnyElement } from "../../elements/element.ts";
import type { NativeNode, NativeSegment } from "../../native/pipeline.ts";
import type { PlanNode, PlanSegment } from "../compiler/plan.ts";
import type { BoundHandler } from "./handlers.ts";
import { encodeValue, nativeProperties } from "./property-kinds.ts";

export function toNative(
  segment: PlanSegment,
  elements: ReadonlyMap<string, AnyElement>,
  handlers: ReadonlyMap<string, BoundHandler>,
): NativeSegment {
  return {
    nodes: segment.nodes.map((node) => nativeNode(node, elements, handlers.get(node.name))),
    links: segment.tee === null ? segment.links : segment.links.slice(1),
  };
}

/** The node that hangs on the tee. */
export function entryOf(segment: PlanSegment): string {
  const [first] = segment.links;
  if (segment.tee === null || first === undefined) throw new Error(`segment "${segment.name}" hangs on nothing`);
  return first.to;
}

function nativeNode(
  node: PlanNode,
  elements: ReadonlyMap<string, AnyElement>,
  handler: BoundHandler | undefined,
): NativeNode {
  return {
    name: node.name,
    factory: node.factory,
    properties: encodeProperties(node, elements, node.properties),
    ...(handler === undefined ? {} : { binding: handler.binding }),
  };
}

/** Values for the native side; undefined among them puts a property back to its default. */
export function encodeProperties(
  node: PlanNode,
  elements: ReadonlyMap<string, AnyElement>,
  values: Readonly<Record<string, PlanNode["properties"][string] | undefined>>,
) {
  const element = node.kind === "typescript" ? elements.get(node.element) : undefined;
  const known = new Map(
    (element ? nativeProperties(element.properties) : []).map((property) => [property.name, property]),
  );
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, encodeValue(known.get(name), value)] as const),
  );
}
