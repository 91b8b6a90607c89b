/** The changes from one plan to another: properties set while PLAYING, branches attached and detached, or a relaunch. */
import { isDeepStrictEqual } from "node:util";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import type { GraphPlan, PlanChange, PlanNode, PlanSegment } from "./plan.ts";
import { type ElementKnowledge, isLiveProperty, isMutable } from "./properties.ts";

/** Relaunches first; a segment is detached before it is attached again. */
export function diffPlans(before: GraphPlan, after: GraphPlan, knowledge: ElementKnowledge): readonly PlanChange[] {
  const changes = [
    ...diffStart(before, after),
    ...diffMain(before.main, after.main, knowledge),
    ...diffBranches(before.branches, after.branches, knowledge),
  ];
  const order = ["relaunch", "branch", "live"];
  return changes.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
}

const relaunch = (reason: string): PlanChange => ({ label: "relaunch", reason });

function diffStart(before: GraphPlan, after: GraphPlan): readonly PlanChange[] {
  const changes: PlanChange[] = [];
  if (before.source?.uri !== after.source?.uri) {
    changes.push(relaunch(`the source changes from ${before.source?.uri ?? "none"} to ${after.source?.uri ?? "none"}`));
  } else if (before.source?.pace !== after.source?.pace || before.live !== after.live) {
    const pace = (plan: GraphPlan) => plan.source?.pace ?? (plan.live ? "realtime" : "fast");
    changes.push(relaunch(`the pace of the source changes from ${pace(before)} to ${pace(after)}`));
  }
  if (!isDeepStrictEqual(before.prefer, after.prefer)) changes.push(relaunch("autoplugging prefers other elements"));
  return changes;
}

function diffMain(before: PlanSegment, after: PlanSegment, knowledge: ElementKnowledge): readonly PlanChange[] {
  const { changes, obstacles } = diffSegment(before, after, knowledge);
  return [...obstacles.map(relaunch), ...changes];
}

function diffBranches(
  before: readonly PlanSegment[],
  after: readonly PlanSegment[],
  knowledge: ElementKnowledge,
): readonly PlanChange[] {
  const detach = (segment: PlanSegment): PlanChange => ({ label: "branch", action: "detach", segment: segment.name });
  const attach = (segment: PlanSegment): PlanChange => ({ label: "branch", action: "attach", segment: segment.name });
  const gone = before.filter((old) => !after.some((segment) => segment.name === old.name));
  const rest = after.flatMap((segment) => {
    const old = before.find((candidate) => candidate.name === segment.name);
    if (old === undefined) return [attach(segment)];
    const { changes, obstacles } = diffSegment(old, segment, knowledge);
    return obstacles.length > 0 ? [detach(old), attach(segment)] : changes;
  });
  return [...gone.map(detach), ...rest];
}

/** Changes that are possible while PLAYING, and what prevents others. */
interface SegmentDiff {
  readonly changes: readonly PlanChange[];
  readonly obstacles: readonly string[];
}

function diffSegment(before: PlanSegment, after: PlanSegment, knowledge: ElementKnowledge): SegmentDiff {
  const obstacles: string[] = [];
  const changes: PlanChange[] = [];
  if (before.tee !== after.tee) obstacles.push(`"${after.name}" is attached to another tee`);
  const old = new Map(before.nodes.map((node) => [node.name, node]));
  const kept = new Set(after.nodes.map((node) => node.name));
  for (const node of before.nodes)
    if (!kept.has(node.name)) obstacles.push(`"${node.name}" (${node.factory}) is removed`);
  for (const node of after.nodes) {
    const was = old.get(node.name);
    if (was === undefined) obstacles.push(`"${node.name}" (${node.factory}) is new`);
    else if (was.factory !== node.factory || was.kind !== node.kind)
      obstacles.push(`"${node.name}" changes from ${was.factory} to ${node.factory}`);
    else diffProperties(was, node, knowledge, changes, obstacles);
  }
  // Added and removed nodes change links too; only other changes of links count.
  if (obstacles.length === 0 && !sameLinks(before, after))
    obstacles.push(`the elements of "${after.name}" are linked differently`);
  if (obstacles.length === 0) obstacles.push(...diffDrivers(before, after, knowledge));
  return { changes, obstacles };
}

function diffProperties(
  before: PlanNode,
  after: PlanNode,
  knowledge: ElementKnowledge,
  changes: PlanChange[],
  obstacles: string[],
): void {
  for (const [property, from, to] of differences(before.properties, after.properties)) {
    if (isMutable(after, property, knowledge)) {
      changes.push({ label: "live", node: after.name, author: after.author, property, from, to });
    } else {
      obstacles.push(`property "${property}" of "${after.name}" is not mutable while PLAYING`);
    }
  }
}

/** Drivers get their properties once; mutable properties are applied to the nodes that the element expands into. */
function diffDrivers(before: PlanSegment, after: PlanSegment, { elements }: ElementKnowledge): readonly string[] {
  return after.drivers.flatMap((driver) => {
    const was = before.drivers.find((candidate) => candidate.author === driver.author);
    if (was === undefined) return [`"${driver.author}" gets a new driver`];
    const definition = elements.get(driver.element);
    return [...differences(was.properties, driver.properties)]
      .map(([name]) => kebab(name))
      .filter((name) => definition === undefined || !isLiveProperty(definition, name))
      .map((name) => `property "${name}" of "${driver.author}" is not mutable while PLAYING`);
  });
}

function* differences(before: JsonRecord, after: JsonRecord): Generator<[string, Json | undefined, Json | undefined]> {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!isDeepStrictEqual(before[name], after[name])) yield [name, before[name], after[name]];
  }
}

function sameLinks(before: PlanSegment, after: PlanSegment): boolean {
  const list = (segment: PlanSegment) =>
    segment.links.map((link) => JSON.stringify(Object.entries(link).sort())).sort();
  return isDeepStrictEqual(list(before), list(after));
}
