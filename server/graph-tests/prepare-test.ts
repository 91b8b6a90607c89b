/** A test of a graph → a job for a runner. Everything that can be checked before the run is checked, with its position. */
import { checkExpectations } from "../../graphs/compiler/check-expectations.ts";
import type { Named } from "../../graphs/compiler/document.ts";
import type { FaultList } from "../../graphs/compiler/fault.ts";
import { PATTERN, sourceOf } from "../../graphs/compiler/graph-tests.ts";
import { toJson } from "../../graphs/compiler/located.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import type { FoundTest } from "../../graphs/compiler/worker/messages.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import { type CheckAlerts, ruleOf } from "../alerts/written-alerts.ts";
import type { AlertNode, GraphOrder, PreparedOrder } from "../graphs/library.ts";
import { ServiceError } from "../service-error.ts";
import type { Sources } from "../sources/sources.ts";
import type { Queries } from "../store/client.ts";
import { findNamedSources } from "../store/sources.ts";
import { newUuid } from "../uuid.ts";

export interface PrepareDeps {
  readonly sql: Queries;
  readonly sources: Pick<Sources, "resolveInput">;
  readonly checkAlerts: CheckAlerts;
  prepare(order: GraphOrder): Promise<PreparedOrder>;
  openModels(userUuid: string, names: readonly string[]): Promise<NonNullable<RunnerJob["models"]>>;
  /** Of the installed models. */
  listModels(): Promise<readonly { readonly name: string; readonly labels: readonly string[] }[]>;
  classNames(): Promise<readonly string[]>;
}

export interface TestedGraph {
  readonly userUuid: string;
  readonly graph: string;
  /** Null: it is installed. */
  readonly text: string | null;
  readonly signal: AbortSignal;
}

export interface PreparedTest {
  readonly test: FoundTest;
  /** Called before the run. Rejects with `ServiceError`. */
  makeJob(): Promise<RunnerJob>;
  /** After the run. */
  release(): void;
}

/** The video of a test. */
interface Clip {
  readonly uri: string;
  locate(): Promise<string>;
  release(): void;
}

/** Null: it has faults. Rejects with `ServiceError`, such as `invalid_input` for params that the graph rejects. */
export async function prepareTest(
  deps: PrepareDeps,
  graph: TestedGraph,
  test: FoundTest,
  faults: FaultList,
): Promise<PreparedTest | null> {
  const before = faults.size;
  rejectFiles(test, faults);
  const clip = await findClip(deps, graph, test, faults);
  const classNames = await deps.classNames();
  const alerts = deps
    .checkAlerts(
      test.alerts.map((at) => ({ value: toJson(at) as JsonRecord, at })),
      classNames.length === 0 ? null : classNames,
      faults,
    )
    .filter(({ isActive }) => isActive);
  if (clip === null) return null;
  const params = Object.fromEntries(test.params.map(({ key, value }) => [key, toJson(value)] as const));
  const prepared = await compileFor(deps, graph, test, { params, sourceUri: clip.uri });
  const classes = findClasses(prepared.plan, await deps.listModels());
  checkExpectations(test, prepared.plan, { aliases: alerts.map(({ alias }) => alias), classes }, faults);
  if (faults.size > before) return null;
  return {
    test,
    async makeJob() {
      return {
        ...{ uuid: newUuid(), graph: graph.graph, graphText: graph.text, params, sourceUri: await clip.locate() },
        ...{ sourceLabel: test.clip?.value ?? "", positionNs: "0", epochMs: 0, firstTrackId: 1, attach: [] },
        ...{ giveUpSeconds: 0, live: liveOf(prepared.alertNode, alerts.map(ruleOf)) },
        models: await deps.openModels(graph.userUuid, prepared.models),
        test: {
          ...{ frames: test.frames, metrics: test.expect.map(({ metric }) => metric) },
          aliases: Object.fromEntries(alerts.map(({ uuid, alias }) => [uuid, alias])),
        },
      };
    },
    release: clip.release,
  };
}

/** Files of the server are not for clients. */
function rejectFiles({ telemetry, golden }: FoundTest, faults: FaultList): void {
  if (telemetry !== null)
    faults.add("file_unreadable", telemetry.at, "`telemetry` is a file, which the service does not read for a test", {
      expected: "a test without it, or `windhover test`",
    });
  if (golden !== null)
    faults.add("file_unreadable", golden.at, "`golden` is a file, which the service does not read for a test", {
      expected: "numbers, or `windhover test`",
    });
}

const CLIPS = "source:ALIAS or source:UUID of a video that you have uploaded, or test:PATTERN?frames=N";

async function findClip(
  deps: PrepareDeps,
  { userUuid }: TestedGraph,
  { name, at, clip, clipFile }: FoundTest,
  faults: FaultList,
): Promise<Clip | null> {
  if (clip === null) {
    faults.add("missing_source", at, `test "${name}" has no clip`, { expected: `\`clip:\` with ${CLIPS}` });
    return null;
  }
  const source = sourceOf(clip);
  if (source !== null) return openSource(deps, userUuid, { value: source, at: clip.at }, faults);
  const uri = PATTERN.test(clip.value) ? clip.value : clipFile;
  if (uri !== null) return { uri, locate: async () => uri, release() {} };
  faults.add("file_unreadable", clip.at, `the service has no clip "${clip.value}" for this graph`, { expected: CLIPS });
  return null;
}

async function openSource(
  { sql, sources }: PrepareDeps,
  userUuid: string,
  { value, at }: Named,
  faults: FaultList,
): Promise<Clip | null> {
  const [source, other] = await findNamedSources(sql, userUuid, value);
  if (source === undefined)
    faults.add("missing_source", at, `there is no source "${value}"`, {
      expected: "the alias or UUID of one of your sources: `GET /sources`",
    });
  else if (other !== undefined)
    faults.add("missing_source", at, `several sources have the alias "${value}"`, {
      expected: "the UUID of one of them: `GET /sources`",
    });
  else if (source.type !== "file")
    faults.add("missing_source", at, `the source "${value}" is a stream`, {
      expected: "an uploaded video: a test gets the same frames each time, and ends",
    });
  else {
    const { uri, locate, release } = await sources.resolveInput(userUuid, source.uuid);
    return { uri, locate, release: () => release?.() };
  }
  return null;
}

async function compileFor(
  { prepare }: PrepareDeps,
  { graph, text, userUuid, signal }: TestedGraph,
  { name }: FoundTest,
  { params, sourceUri }: Pick<GraphOrder, "params" | "sourceUri">,
): Promise<PreparedOrder> {
  try {
    // Params of an installed graph's tests are the operator's.
    return await prepare({ graph, graphText: text, params, given: {}, sourceUri, userUuid, signal });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "invalid_input") throw error;
    const detail = `Test "${name}": ${error.message}`;
    throw new ServiceError("invalid_input", { detail, errors: error.errors ?? [], cause: error });
  }
}

const liveOf = (node: AlertNode | null, rules: readonly unknown[]): LiveValues =>
  node === null || rules.length === 0 ? {} : { [node.name]: { rules: [...node.rules, ...rules] as unknown as Json } };

/** Of the first detector; null when its model is not an installed one. */
function findClasses(
  { main, branches }: GraphPlan,
  models: Awaited<ReturnType<PrepareDeps["listModels"]>>,
): readonly string[] | null {
  const detect = [main, ...branches].flatMap(({ nodes }) => nodes).find(({ element }) => element === "detect");
  const { model = "default", classes = [] } = (detect?.properties ?? {}) as {
    readonly model?: string;
    readonly classes?: readonly string[];
  };
  return classes.length > 0 ? classes : (models.find(({ name }) => name === model)?.labels ?? null);
}
