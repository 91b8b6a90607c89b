/** A test of a graph file → a graph ready to run on its clip. Everything that can be checked before the run is checked. */
import { checkExpectations } from "../../graphs/compiler/check-expectations.ts";
import { type Compiled, compile } from "../../graphs/compiler/compile.ts";
import type { GraphTest } from "../../graphs/compiler/document.ts";
import { type Fault, FaultList } from "../../graphs/compiler/fault.ts";
import { PATTERN, sourceOf } from "../../graphs/compiler/graph-tests.ts";
import { toJson } from "../../graphs/compiler/located.ts";
import type { GraphPlan, Position } from "../../graphs/compiler/plan.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ruleOf } from "../../server/alerts/written-alerts.ts";
import { CommandFailure, UsageFault } from "../command.ts";
import type { Knowledge } from "../compile-graph.ts";
import { expectFile } from "../files.ts";
import type { GraphFiles } from "../graph-files.ts";
import { findDetector, withRules } from "../replay/play-clip.ts";
import { checkAlerts } from "../replay/read-alerts.ts";
import { type Flight, orderTelemetry, readFlight } from "../run/telemetry-file.ts";
import { besideGraph, explainMissing, findTestFile } from "./find-file.ts";

export interface TestWorld extends Knowledge {
  /** Classes of all installed models; null when none is installed. */
  readonly classNames: readonly string[] | null;
}

export interface PreparedTest {
  readonly test: GraphTest;
  readonly compiled: Compiled;
  readonly plan: GraphPlan;
  /** As a path or `test:PATTERN`; null for a graph that names its source itself. */
  readonly clip: string | null;
  readonly params: JsonRecord;
  readonly flight: Flight | null;
  /** Path of the golden file. */
  readonly golden: string | null;
  /** Names of alerts by what their events name. */
  readonly aliases: ReadonlyMap<string, string>;
}

type Preparation =
  | { readonly prepared: PreparedTest; readonly faults: readonly [] }
  | { readonly prepared: null; readonly faults: readonly Fault[] };

/** Throws `GraphFaults` if a graph file cannot be read. */
export function prepareTest(test: GraphTest, files: GraphFiles, world: TestWorld): Preparation {
  const faults = new FaultList(test.at.file);
  if (test.clip !== null && sourceOf(test.clip) !== null) {
    faults.add("file_unreadable", test.clip.at, `"${test.clip.value}" is a source of a service`, {
      expected: "a file, or test:PATTERN?frames=N; a service runs this test: `POST /graphs/{name}/test`",
    });
    return { prepared: null, faults: faults.sorted() };
  }
  const clip = test.clip === null ? null : PATTERN.test(test.clip.value) ? test.clip.value : findTestFile(test.clip);
  if (test.clip !== null && clip !== null && !PATTERN.test(clip))
    attempt(test.clip.at, faults, () => expectFile(clip), explainMissing(test.clip));
  const flight = readTelemetry(test, faults);
  const alerts = checkAlerts(
    test.alerts.map((at) => ({ value: toJson(at) as JsonRecord, at })),
    world.classNames,
    faults,
  ).filter(({ isActive }) => isActive);
  const params = Object.fromEntries(test.params.map(({ key, value }) => [key, toJson(value)] as const));
  const source = clip === null ? null : ({ uri: clip, pace: "fast" } as const);
  const compiled = compile(files.read(), { ...world, load: files.loader(), params, source });
  faults.addAll(compiled.faults);
  const { plan } = compiled;
  if (plan !== null) {
    const classes = findDetector(plan)?.classes ?? null;
    checkExpectations(test, plan, { aliases: alerts.map(({ alias }) => alias), classes }, faults);
  }
  if (plan === null || faults.size > 0) return { prepared: null, faults: faults.sorted() };
  const ruled = alerts.length === 0 ? compiled : withRules(compiled, plan, alerts.map(ruleOf));
  const golden = test.golden === null ? null : besideGraph(test.golden);
  const aliases = new Map(alerts.map(({ uuid, alias }) => [uuid, alias]));
  return { prepared: { test, compiled: ruled, plan, clip, params, flight, golden, aliases }, faults: [] };
}

/** Errors of files and formats become faults of the text that names them; `more` is added to their messages. */
function attempt<T>(at: Position, faults: FaultList, work: () => T, more = ""): T | null {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof CommandFailure) && !(error instanceof UsageFault)) throw error;
    const message = error.message.replaceAll("--telemetry-format", "`telemetry_format`");
    faults.add("file_unreadable", at, message + more);
    return null;
  }
}

function readTelemetry(test: GraphTest, faults: FaultList): Flight | null {
  const { telemetry, telemetryFormat } = test;
  if (telemetry === null) return null;
  const order = attempt(telemetryFormat?.at ?? telemetry.at, faults, () =>
    orderTelemetry(findTestFile(telemetry), telemetryFormat?.value ?? "native"),
  );
  return order === null ? null : attempt(telemetry.at, faults, () => readFlight(order), explainMissing(telemetry));
}
