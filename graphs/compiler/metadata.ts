/** What elements read of the frame metadata must have been written on every path that leads to them. */
import type { AnyElement } from "../../elements/element.ts";
import type { Edge } from "./connect.ts";
import { listChoices } from "./describe.ts";
import type { FaultList } from "./fault-list.ts";
import { groupBy, type Ordered } from "./order.ts";
import type { ResolvedStep } from "./resolved.ts";

/** Keys that are on every frame here; `unknown` after a step that could not be read, which may write anything. */
export type Available = ReadonlySet<string> | "unknown";

export interface MetadataRequest {
  readonly ordered: Ordered;
  /** Results of steps walked before, such as the tee a slot hangs on. */
  readonly given: ReadonlyMap<ResolvedStep, Available>;
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly faults: FaultList;
}

export function followMetadata({
  ordered,
  given,
  elements,
  faults,
}: MetadataRequest): ReadonlyMap<ResolvedStep, Available> {
  const incoming = groupBy(ordered.edges, (edge) => edge.to);
  const result = new Map(given);
  for (const step of ordered.steps) {
    if (result.has(step)) continue;
    const arriving = meet((incoming.get(step) ?? []).map((edge: Edge) => result.get(edge.from) ?? new Set<string>()));
    if (!step.broken) checkReads(step, arriving, elements, faults);
    const writes = step.definition?.writes ?? [];
    const opaque = step.broken && step.definition === null;
    result.set(step, arriving === "unknown" || opaque ? "unknown" : new Set([...arriving, ...writes]));
  }
  return result;
}

function meet(all: readonly Available[]): Available {
  const known = all.filter((available) => available !== "unknown");
  const [first, ...rest] = known;
  if (first === undefined) return all.length === 0 ? new Set() : "unknown";
  return new Set([...first].filter((key) => rest.every((other) => other.has(key))));
}

function checkReads(
  step: ResolvedStep,
  arriving: Available,
  elements: ReadonlyMap<string, AnyElement>,
  faults: FaultList,
): void {
  if (arriving === "unknown") return;
  for (const read of step.definition?.reads ?? []) {
    if (typeof read === "object" && "optional" in read) continue;
    const wanted = typeof read === "string" ? [read] : read.oneOf;
    if (wanted.some((key) => arriving.has(key))) continue;
    const what = wanted.map((key) => `"${key}"`).join(" or ");
    const writers = [...elements.values()].filter((element) => element.writes?.some((key) => wanted.includes(key)));
    faults.add(
      "missing_metadata",
      step.at,
      `"${step.name.replace(/^.*\//, "")}" reads ${what}, which nothing before it writes`,
      {
        expected:
          writers.length === 0
            ? `an element that writes ${what}`
            : `${listChoices(writers.map(({ name }) => `\`${name}\``))} before it`,
      },
    );
  }
}
