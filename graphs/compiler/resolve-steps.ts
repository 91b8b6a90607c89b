/** Steps → elements of the pipeline with checked properties; a composite expands into several. */
import {
  type AnyElement,
  type CompositeDefinition,
  type ComputedValue,
  type Elements,
  type ExpandContext,
  type ExpandedNode,
  ExpandFault,
  type Expansion,
  type Read,
} from "../../elements/element.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import type { FactoryInfo, PadInfo, Registry } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import type { PreparedStep } from "./apply-params.ts";
import type { FaultList } from "./fault.ts";
import { checkNativeValue, findNativeProperty } from "./native-properties.ts";
import type { PlanDriver, Position, PropertyOrigin } from "./plan.ts";
import {
  type CheckedProperties,
  checkNative,
  checkTypescript,
  completeProperties,
  missingProperties,
} from "./properties.ts";
import { listExpressions, readDefinition, type WrittenExpression } from "./written-expressions.ts";

/** One element of the future pipeline. */
export interface Part {
  readonly name: string;
  readonly kind: "native" | "typescript";
  readonly factory: string;
  readonly properties: JsonRecord;
  readonly origins: Readonly<Record<string, PropertyOrigin>>;
  readonly pads: readonly PadInfo[];
  /** Caps that select one of several source pads. */
  readonly onward: string | null;
}

export interface ResolvedStep {
  readonly name: string;
  readonly element: string;
  readonly at: Position;
  readonly definition: AnyElement | null;
  /** Linked in order. */
  readonly parts: readonly Part[];
  /** It has faults, which are reported: later checks ignore this step. */
  readonly broken: boolean;
  readonly driver: PlanDriver | null;
  readonly prefer: readonly string[];
  /** Metadata that it reads. */
  readonly reads: readonly Read[];
  /** Expressions in its properties. */
  readonly expressions: readonly WrittenExpression[];
  /** Values that it computes for expressions downstream. */
  readonly values: readonly ComputedValue[];
}

export interface Resolution {
  readonly elements: Elements;
  readonly registry: Registry;
  readonly context: ExpandContext;
  /** Names of steps that provide encoded video. */
  readonly encoded: ReadonlySet<string>;
  /** Prefix of every node name: `feed:1/` in an attached slot. */
  readonly prefix: string;
  readonly faults: FaultList;
}

/** A step that could not be read or resolved; checks of its neighbours ignore it. */
export function brokenStep(at: Position, name = "", element = "", definition: AnyElement | null = null): ResolvedStep {
  const nothing = { parts: [], driver: null, prefer: [], reads: definition?.reads ?? [], expressions: [], values: [] };
  return { name, element, at, definition, broken: true, ...nothing };
}

export function resolveStep(step: PreparedStep, resolution: Resolution): ResolvedStep {
  const { elements, registry, prefix, faults } = resolution;
  const name = prefix + step.name;
  const definition = elements.get(step.element);
  const broken = brokenStep(step.at, name, step.element, definition ?? null);
  if (definition !== undefined) {
    const before = faults.size;
    const checked = checkTypescript(step, definition, faults);
    if (definition.kind === "composite")
      return faults.size > before ? broken : expand(step, definition, checked, broken, resolution);
    const { values: properties, origins } = checked;
    const pads = padsOf(definition);
    const part: Part = { name, kind: "typescript", factory: definition.name, properties, origins, pads, onward: null };
    if (faults.size > before) return { ...broken, parts: [part], broken: false };
    const expressions = listExpressions(step, definition);
    const { behind, ...metadata } = readDefinition(definition, properties);
    const native = behind.map((node) => makePart(node, `${name}.${node.suffix}`, step, resolution));
    if (!native.every((each) => each !== null)) return broken;
    return { ...broken, parts: [part, ...native], broken: false, expressions, ...metadata };
  }
  const factory = registry.get(step.element);
  if (factory !== undefined) {
    checkUsable(step, factory, faults);
    const { values: properties, origins } = checkNative(step, factory, faults);
    const { name: called, pads } = factory;
    const part: Part = { name, kind: "native", factory: called, properties, origins, pads, onward: null };
    return { ...broken, parts: [part], broken: false };
  }
  const unloaded = elements.broken?.get(step.element);
  if (unloaded !== undefined) {
    const { place, reason } = unloaded;
    faults.add("unknown_element", step.at, `the element "${step.element}" could not be loaded: ${place}: ${reason}`, {
      expected: "an element that can be loaded; fix that file",
    });
    return broken;
  }
  faults.add("unknown_element", step.at, `unknown element "${step.element}"`, {
    expected: "a TypeScript element or an installed GStreamer element; `windhover inspect` lists them",
    suggestion: suggest(step.element, [...elements.keys(), ...registry.list().map((known) => known.name)]),
  });
  return broken;
}

function padsOf(definition: AnyElement): readonly PadInfo[] {
  if (definition.kind === "composite") return [];
  const { caps } = definition;
  const sink: PadInfo = { name: "sink", direction: "sink", presence: "always", caps };
  return definition.kind === "sink" ? [sink] : [sink, { name: "src", direction: "src", presence: "always", caps }];
}

function expand(
  step: PreparedStep,
  definition: CompositeDefinition,
  checked: CheckedProperties,
  broken: ResolvedStep,
  resolution: Resolution,
): ResolvedStep {
  // A required value is unknown and has no sample value: the expansion is unknown as well.
  if (missingProperties(definition, Object.keys(checked.values)).length > 0) return broken;
  const properties = completeProperties(definition, checked.values);
  let expansion: Expansion;
  try {
    expansion = definition.expand(properties, resolution.context);
  } catch (error) {
    reportExpansion(error, step, checked, resolution);
    return broken;
  }
  const { nodes, prefer = [] } = expansion;
  const parts = nodes.map((node) =>
    makePart(node, nodes.length === 1 ? broken.name : `${broken.name}.${node.suffix}`, step, resolution),
  );
  if (!parts.every((part) => part !== null)) return broken;
  const driver: PlanDriver | null =
    definition.drive === undefined && definition.open === undefined
      ? null
      : { author: broken.name, element: definition.name, properties };
  return { ...broken, parts, broken: false, driver, prefer };
}

function reportExpansion(error: unknown, step: PreparedStep, checked: CheckedProperties, { faults }: Resolution): void {
  const name = error instanceof ExpandFault && error.property !== null ? kebab(error.property) : null;
  // The value was a sample, not the author's.
  if (name !== null && checked.unknown.has(name)) return;
  const property = step.properties.find((candidate) => candidate.name === name);
  const message = error instanceof Error ? error.message : String(error);
  const where = name === null ? step.element : `${step.element}.${name}`;
  faults.add("bad_property", property?.written.at ?? step.at, `${where}: ${message}`);
}

function makePart(node: ExpandedNode, name: string, step: PreparedStep, resolution: Resolution): Part | null {
  const { registry, elements, faults } = resolution;
  const onward = node.onward ?? null;
  const factory = registry.get(node.factory);
  if (factory === undefined) {
    const definition = elements.get(node.factory);
    if (definition !== undefined && definition.kind !== "composite") {
      const { factory: called, properties } = node;
      return { name, kind: "typescript", factory: called, properties, origins: {}, pads: padsOf(definition), onward };
    }
    const found = `${step.element} needs the GStreamer element "${node.factory}", which is not installed`;
    faults.add("unknown_element", step.at, found, { expected: "the GStreamer plugin that has it" });
    return null;
  }
  const properties: Record<string, Json> = {};
  for (const [key, value] of Object.entries(node.properties)) {
    const info = findNativeProperty(factory, key);
    if ("message" in info) {
      faults.add("unknown_property", step.at, `${step.element} has an invalid expansion: ${info.message}`, info);
      return null;
    }
    const checked = checkNativeValue(info, value, false);
    if (!checked.ok) {
      const found = `${step.element} has an invalid expansion: ${factory.name}.${key} is ${checked.found}`;
      faults.add("bad_property", step.at, found, checked);
      return null;
    }
    if (checked.value !== undefined) properties[key] = checked.value;
  }
  return { name, kind: "native", factory: factory.name, properties, origins: {}, pads: factory.pads, onward };
}

/** GStreamer elements that a graph can name but that would do nothing, block forever or fail to start. */
interface Unusable {
  readonly why: string;
  readonly expected: string;
}

const HAND_OUT = "`fakesink`, `print`, `detections` or an element of your own in its place";
const OTHER_PIPELINE: Unusable = {
  why: "needs its counterpart in another pipeline of the same program",
  expected: "`tee` and `queue`, or `intervideosink` and `intervideosrc`",
};
const DESCRIPTORS: Unusable = {
  why: "needs file descriptors from the program that it runs in",
  expected: "`shmsink` and `shmsrc`, or `tcpserversink` and `tcpclientsrc`",
};
const STREAMS: Unusable = {
  why: "needs a stream object from the program that it runs in",
  expected: "`filesrc`, `filesink`, `giosrc` or `giosink`",
};

/** These need application code that holds the element. */
const DRIVEN_BY_CODE: ReadonlyMap<string, Unusable> = new Map([
  ["appsink", { why: "hands frames to application code, which a graph does not have", expected: HAND_OUT }],
  [
    "appsrc",
    {
      why: "gets its frames from application code, which a graph does not have",
      expected: "`source` or `videotestsrc`",
    },
  ],
  ["proxysink", OTHER_PIPELINE],
  ["proxysrc", OTHER_PIPELINE],
  ["ipcpipelinesink", DESCRIPTORS],
  ["ipcpipelinesrc", DESCRIPTORS],
  ["giostreamsink", STREAMS],
  ["giostreamsrc", STREAMS],
  [
    "webrtcbin",
    { why: "needs code for its signalling", expected: "`publish` to the hub, which answers WebRTC players (WHEP)" },
  ],
]);

/** Without these the element fails to start; GStreamer itself marks no property as required. */
const REQUIRED: ReadonlyMap<string, string> = new Map([
  ["filesrc", "location"],
  ["filesink", "location"],
  ["rtmp2sink", "location"],
  ["rtmp2src", "location"],
  ["rtspclientsink", "location"],
  ["rtspsrc", "location"],
  ["shmsink", "socket-path"],
  ["shmsrc", "socket-path"],
  ["souphttpsrc", "location"],
  ["splitmuxsink", "location"],
  ["splitmuxsrc", "location"],
  ["uridecodebin", "uri"],
  ["uridecodebin3", "uri"],
  ["urisourcebin", "uri"],
]);

/** Only for elements that the graph names itself: a composite feeds the elements it expands into. */
function checkUsable(step: PreparedStep, { name, pads }: FactoryInfo, faults: FaultList): void {
  const unusable = DRIVEN_BY_CODE.get(name);
  if (unusable !== undefined) {
    faults.add("unusable_element", step.at, `${name} ${unusable.why}`, unusable);
  } else if (pads.length === 0) {
    faults.add("unusable_element", step.at, `${name} has no pads and cannot be linked`, {
      expected: "`source: { uri: … }` or `uridecodebin`, and a sink of your choice",
    });
  }
  const required = REQUIRED.get(name);
  const isGiven = step.properties.some(({ name: given, value, unknown }) => given === required && (unknown || value));
  if (required === undefined || isGiven) return;
  faults.add("bad_property", step.at, `${name} lacks its required property "${required}"`, {
    expected: `\`${required}\`, text that is not empty`,
  });
}
