/** A step once its element is found: what stands in the pipeline for it. */
import type { AnyElement, Elements, ExpandContext } from "../../elements/element.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PadInfo, Registry } from "../../schemas/registry.ts";
import type { FaultList } from "./fault-list.ts";
import type { PlanDriver, Position, PropertyOrigin } from "./plan.ts";
import type { PreparedStep } from "./prepare.ts";

/** One element of the pipeline to be. */
export interface Part {
  readonly name: string;
  readonly kind: "native" | "typescript";
  readonly factory: string;
  readonly properties: JsonRecord;
  readonly origins: Readonly<Record<string, PropertyOrigin>>;
  readonly pads: readonly PadInfo[];
  /** Which of several pads goes on, by caps. */
  readonly onward: string | null;
}

export interface ResolvedStep {
  readonly name: string;
  readonly element: string;
  readonly at: Position;
  readonly definition: AnyElement | null;
  /** Linked in order. */
  readonly parts: readonly Part[];
  /** Its faults are reported; nothing around it is to be blamed on it. */
  readonly broken: boolean;
  readonly driver: PlanDriver | null;
  readonly prefer: readonly string[];
}

export interface Resolution {
  readonly elements: Elements;
  readonly registry: Registry;
  readonly context: ExpandContext;
  /** Names of steps that bring in encoded video. */
  readonly encoded: ReadonlySet<string>;
  /** Put before every node name: `feed:1/` in an attached slot. */
  readonly prefix: string;
  readonly faults: FaultList;
}

export function breakStep(step: PreparedStep, definition: AnyElement | null, { prefix }: Resolution): ResolvedStep {
  const { element, at } = step;
  return { name: prefix + step.name, element, at, definition, parts: [], broken: true, driver: null, prefer: [] };
}

export function padsOf(definition: AnyElement): readonly PadInfo[] {
  if (definition.kind === "composite") return [];
  const { caps } = definition;
  const sink: PadInfo = { name: "sink", direction: "sink", presence: "always", caps };
  return definition.kind === "sink" ? [sink] : [sink, { name: "src", direction: "src", presence: "always", caps }];
}
