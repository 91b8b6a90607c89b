/**
 * Tests of graphs, run for their authors: one after the other, each in a confined runner of its own. A key runs its tests
 * once at a time, and a node those of a few keys.
 */
import { compareNumbers, failAt, failuresOf } from "../../graphs/compiler/check-expectations.ts";
import { FaultList } from "../../graphs/compiler/fault.ts";
import type { FoundTest } from "../../graphs/compiler/worker/messages.ts";
import type { GraphTestReport } from "../../schemas/api/graphs.ts";
import type { Config } from "../../schemas/config.ts";
import type { TestResult } from "../../schemas/graph-tests.ts";
import type { RunnerMessage } from "../../schemas/runner.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type GraphLibrary, invalidGraph } from "../graphs/library.ts";
import type { OwnGraphs } from "../graphs/own-graphs.ts";
import type { RunEnd } from "../processes/lifecycle.ts";
import { type RunAloneDeps, runAlone } from "../processes/run-alone.ts";
import type { RunnerFolders } from "../processes/runner-folders.ts";
import { ServiceError } from "../service-error.ts";
import { graphNotFound } from "../store/graphs.ts";
import { expectMinutes } from "../store/users.ts";
import type { User } from "../user.ts";
import { type PrepareDeps, type PreparedTest, prepareTest } from "./prepare-test.ts";

/** Of all tests of a request. */
const REQUEST_SECONDS = 600;

export interface GraphTestsDeps extends RunAloneDeps, PrepareDeps {
  readonly sql: Parameters<typeof expectMinutes>[0];
  readonly library: Pick<GraphLibrary, "listTests">;
  readonly own: Pick<OwnGraphs, "find">;
  readonly folders: RunnerFolders | null;
  readonly config: Pick<Config["graphs"], "test_seconds" | "tests_at_once">;
}

interface TestOrder {
  readonly name: string;
  /** Of a graph that the user has stored; null: the current one, or an installed graph. */
  readonly version: number | null;
  /** Empty: all. */
  readonly only: readonly string[];
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

type Tested = Extract<RunnerMessage, { type: "tested" }>;

export class GraphTests {
  readonly #deps: GraphTestsDeps;
  /** By user. */
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(deps: GraphTestsDeps) {
    this.#deps = deps;
  }

  /**
   * Rejects with `graph_not_found`, `test_not_found`, `tests_running`, `rate_limited`, `usage_limit_reached`, and with
   * `invalid_input` and every fault of the tests.
   */
  async run(user: User, order: TestOrder): Promise<GraphTestReport> {
    const running = this.#running;
    if (this.#closing.signal.aborted)
      throw new ServiceError("shutting_down", { detail: "the service is shutting down" });
    if (running.has(user.uuid))
      throw new ServiceError("tests_running", {
        detail: "tests of this key are running; a key runs its tests once at a time: try again when they have ended",
      });
    if (running.size >= this.#deps.config.tests_at_once)
      throw new ServiceError("rate_limited", {
        detail: `this node runs tests of ${running.size} keys, which is its limit: try again`,
        retryAfterSeconds: 5,
      });
    const signal = AbortSignal.any([order.signal, this.#closing.signal]);
    const done = this.#run(user, { ...order, signal });
    running.set(
      user.uuid,
      done.catch(() => {}),
    );
    try {
      return await done;
    } finally {
      running.delete(user.uuid);
    }
  }

  /** Ends all runs. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running.values());
  }

  async #run(user: User, { name, version, only, signal }: TestOrder): Promise<GraphTestReport> {
    const { sql, own, library } = this.#deps;
    await expectMinutes(sql, user.uuid);
    const row = await own.find(user, name, version);
    if (row === null && version !== null) throw graphNotFound(name, version);
    const text = row?.yaml ?? null;
    const found = await library.listTests(name, text, { userUuid: user.uuid, signal });
    const chosen = chooseTests(name, found, only);
    const graph = { userUuid: user.uuid, graph: name, text, signal };
    const prepared = await this.#prepare(chosen, graph);
    const results = await this.#runAll(prepared, signal);
    return {
      graph: name,
      version: row?.version ?? null,
      passed: results.every(({ passed }) => passed),
      tests: results,
    };
  }

  async #prepare(tests: readonly FoundTest[], graph: Parameters<typeof prepareTest>[1]) {
    const faults = new FaultList(`${graph.graph}.yaml`);
    const prepared: PreparedTest[] = [];
    for (const test of tests) {
      const ready = await prepareTest(this.#deps, graph, test, faults);
      if (ready !== null) prepared.push(ready);
    }
    if (faults.size > 0) throw invalidGraph(graph.graph, { params: [], graph: faults.sorted() }, null);
    return prepared;
  }

  async #runAll(tests: readonly PreparedTest[], signal: AbortSignal): Promise<TestResult[]> {
    const endMs = performance.now() + REQUEST_SECONDS * 1000;
    const results: TestResult[] = [];
    for (const prepared of tests) {
      if (signal.aborted) break;
      const isLate = performance.now() >= endMs;
      const late = `not run: the tests before it took ${REQUEST_SECONDS} s; run it with \`only\``;
      results.push(isLate ? fail(prepared, late, 0) : await this.#runOne(prepared, signal));
    }
    if (signal.aborted) throw new ServiceError("malformed_request", { detail: "the request was cancelled" });
    return results;
  }

  async #runOne(prepared: PreparedTest, signal: AbortSignal): Promise<TestResult> {
    const { folders, config } = this.#deps;
    const { test_seconds: testSeconds } = config;
    const beganMs = performance.now();
    const timeout = AbortSignal.timeout(testSeconds * 1000);
    let tested: Tested | null = null;
    try {
      const end = await runAlone(this.#deps, {
        ...{ job: await prepared.makeJob(), folders, writes: [], signal: AbortSignal.any([signal, timeout]) },
        onReport(report) {
          if (report.type === "tested") tested = report;
        },
      });
      const seconds = (performance.now() - beganMs) / 1000;
      const late = `the run did not end within ${testSeconds} s; limit it with \`frames\``;
      const why = timeout.aborted ? late : explainEnd(end, tested);
      return why === null ? judge(prepared, tested, seconds) : fail(prepared, why, seconds);
    } finally {
      prepared.release();
    }
  }
}

function chooseTests(graph: string, tests: readonly FoundTest[], only: readonly string[]): readonly FoundTest[] {
  const names = tests.map(({ name }) => name);
  if (names.length === 0)
    throw new ServiceError("test_not_found", { detail: `The graph "${graph}" has no tests; add \`tests:\` to it.` });
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ServiceError("test_not_found", {
      detail: `The graph "${graph}" has no test "${unknown}"; it has ${names.join(", ")}${didYouMean(unknown, names) || "."}`,
    });
  return only.length === 0 ? tests : tests.filter(({ name }) => only.includes(name));
}

/** Null: it has run to the end of its clip. */
function explainEnd(end: RunEnd, tested: Tested | null): string | null {
  if (end.kind !== "finished") return "detail" in end ? end.detail : "the run was stopped";
  if (tested === null) return "the run ended without a result";
  const { errors, lastError } = tested;
  return errors === 0 ? null : `the run had ${errors} errors, the last one: ${lastError}`;
}

function judge({ test }: PreparedTest, tested: Tested | null, seconds: number): TestResult {
  const numbers = [...compareNumbers(test, tested?.found ?? [])];
  const failures = [...failuresOf(numbers)];
  return { name: test.name, passed: failures.length === 0, seconds, numbers, failures };
}

const fail = ({ test }: PreparedTest, message: string, seconds: number): TestResult => ({
  ...{ name: test.name, passed: false, seconds, numbers: [], failures: [failAt(message, test.at)] },
});
