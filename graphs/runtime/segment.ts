/** A plan's segment as the native builder takes it. */
import type { AnyElement } from "../../elements/element.ts";
import type { NativeNode, NativeSegment } from "../../native/pipeline.ts";
import type { PlanLink, PlanNode, PlanSegment } from "../compiler/plan.ts";
import type { BoundHandler } from "./handlers.ts";
import { encodeValue, nativeProperties } from "./property-kinds.ts";

export function toNative(
  segment: PlanSegment,
  elements: ReadonlyMap<string, AnyElement>,
  handlers: ReadonlyMap<string, BoundHandler>,
): NativeSegment {
  const nodes = segment.nodes.map((node) => nativeNode(node, elements, handlers.get(node.name)));
  if (segment.tee !== null) return { nodes, links: segment.links.slice(1) };
  // A tee that only branches hang on has nobody to end in once the last of them is gone: without a sink the stream
  // would never come to its end.
  const open = segment.nodes.filter(
    ({ name, factory }) => factory === "tee" && !segment.links.some(({ from }) => from === name),
  );
  return {
    nodes: [
      ...nodes,
      ...open.map(({ name }) => ({ name: endOf(name), factory: "fakesink", properties: { sync: false } })),
    ],
    links: [...segment.links, ...open.map(({ name }) => ({ from: name, to: endOf(name) }))],
  };
}

const endOf = (tee: string): string => `${tee}.end`;

/** The link from the tee. */
export function entryOf(segment: PlanSegment): PlanLink {
  const [first] = segment.links;
  if (segment.tee === null || first === undefined) throw new Error(`segment "${segment.name}" hangs on nothing`);
  return first;
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
