/** Whether a graph can meet what a test expects, and whether the numbers of a run do. Pure. */
import type { TestFailure, TestNumber } from "../../schemas/graph-tests.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import type { GraphTest } from "./document.ts";
import type { FaultList } from "./fault.ts";
import type { GraphPlan, Position } from "./plan.ts";
import { isInRange } from "./ranges.ts";

interface TestNames {
  /** Of the alerts of the test. */
  readonly aliases: readonly string[];
  /** That the first detector of the graph can find; null when unknown. */
  readonly classes: Iterable<string> | null;
}

/** What is expected must be possible: elements that count it, alerts and classes of that name. */
export function checkExpectations(
  test: GraphTest,
  plan: GraphPlan,
  { aliases, classes: detected }: TestNames,
  faults: FaultList,
): void {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  const expectElement = (element: string, at: Position, what: string): boolean => {
    if (nodes.some((node) => node.element === element)) return true;
    faults.add("unknown_element", at, `${what} needs the element \`${element}\`, and the graph has none`, {
      expected: `\`${element}\` in a chain, as in the template \`detect\``,
    });
    return false;
  };
  if (test.telemetry !== null) expectElement("telemetry", test.telemetry.at, "`telemetry`");
  const [firstAlert] = test.alerts;
  if (firstAlert !== undefined) expectElement("alerts", firstAlert.at, "`alerts`");
  const rules = nodes.flatMap(({ element, properties }) => (element === "alerts" ? idsOf(properties.rules) : []));
  const names = [...aliases, ...rules];
  const counts = nodes.flatMap(({ element, properties }) => (element === "count" ? String(properties.as) : []));
  const isOnly = nodes.filter(({ element }) => element === "detect").length === 1;
  const classes = isOnly ? [...(detected ?? [])] : [];
  for (const { key, at, metric } of test.expect) {
    if (metric.kind === "alerts" && expectElement("alerts", at, `"${key}"`) && metric.alias !== null) {
      if (names.includes(metric.alias)) continue;
      faults.add("document_shape", at, `there is no alert "${metric.alias}"`, {
        expected: names.join(", ") || "`alerts:` of the test with an alert of this alias",
        suggestion: suggest(metric.alias, names),
      });
    }
    if (metric.kind === "messages") expectElement("detections", at, `"${key}"`);
    if (metric.kind === "counts" && expectElement("detections", at, `"${key}"`) && !counts.includes(metric.name))
      faults.add("document_shape", at, `nothing is counted as "${metric.name}"`, {
        expected: counts.join(", ") || `\`count: { as: ${metric.name} }\` in a chain`,
        suggestion: suggest(metric.name, counts),
      });
    if (metric.kind !== "detections" && metric.kind !== "tracks") continue;
    if (!expectElement("detections", at, `"${key}"`)) continue;
    if (metric.className === null || classes.length === 0 || classes.includes(metric.className)) continue;
    faults.add("document_shape", at, `the graph never detects the class "${metric.className}"`, {
      expected: "a class of its model, or of `classes` of `detect`",
      suggestion: suggest(metric.className, classes),
    });
  }
}

const idsOf = (rules: Json | undefined): readonly string[] =>
  Array.isArray(rules) ? (rules as readonly JsonRecord[]).map(({ alert }) => String(alert)) : [];

/** @param found the numbers, in the order of `expect` */
export const compareNumbers = ({ expect }: GraphTest, found: readonly number[]): readonly TestNumber[] =>
  expect.map(({ key, at, range }, index) => {
    const number = found[index] ?? 0;
    return { key, found: number, expected: range.text, passed: isInRange(number, range), ...placeOf(at) };
  });

export const failuresOf = (numbers: readonly TestNumber[]): readonly TestFailure[] =>
  numbers
    .filter(({ passed }) => !passed)
    .map(({ key, found, expected, line, column }) => ({
      ...{ message: `${key} is ${found}; expected ${expected}`, line, column },
    }));

export const failAt = (message: string, at: Position): TestFailure => ({ message, ...placeOf(at) });

const placeOf = ({ line, column }: Position) => ({ line, column });
