/** Limits of the tests of graphs, with scripted runners that never end. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pino } from "pino";
import { compile } from "../../graphs/compiler/compile.ts";
import { inputWith } from "../../test/graph.fixture.ts";
import { until } from "../../test/watch.fixture.ts";
import { makeUser } from "../api/app.fixture.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { SCRIPTED } from "../processes/supervisor.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { GraphTests, type GraphTestsDeps } from "./graph-tests.ts";

const GRAPH = `graph: yard
about: Counts frames.
chains:
  main: [source, decode, stage, fakesink]
tests:
  ball: { clip: "test:ball?frames=100000000", expect: { frames: 1 } }
`;
const { faults, tests, plan } = compile({ file: "yard.yaml", text: GRAPH }, { ...inputWith(), mode: "check" });
assert.deepEqual(faults, []);

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database?.close());

async function open(config: GraphTestsDeps["config"], onJob = () => {}): Promise<GraphTests> {
  const refuse = () => assert.fail("it is not used");
  return new GraphTests({
    ...{ sql: database.sql, config, runnerEntry: SCRIPTED, confinement: await testConfinement(), folders: null },
    ...{
      memoryBytes: 2 ** 30,
      log: pino({ level: "silent" }),
      checkAlerts: () => [],
      sources: { resolveInput: refuse },
    },
    own: { find: async () => null },
    library: { listTests: async () => tests.map((found) => ({ ...found, clipFile: null })) },
    prepare: async ({ params }) => ({
      ...{ params, offers: new Set<string>(), slots: {}, alertNode: null, models: [], plan: plan ?? assert.fail() },
    }),
    openModels: async () => {
      onJob();
      return {};
    },
    listModels: async () => [],
    classNames: async () => [],
  });
}

const orderFor = (signal = new AbortController().signal) => ({ name: "yard", version: null, only: [], signal });

test("a test that does not end within the time limit fails, with its position", async () => {
  const limited = await open({ test_seconds: 0.5, tests_at_once: 1 });
  const report = await limited.run(makeUser("ada"), orderFor());
  const [{ passed, numbers, failures } = assert.fail()] = report.tests;
  assert.deepEqual([report.passed, passed, numbers], [false, false, []]);
  const message = "the run did not end within 0.5 s; limit it with `frames`";
  assert.deepEqual(failures, [{ message, line: 6, column: 3 }]);
  await limited.close();
});

test("runs the tests of two keys at once, each once at a time, and tells others when to try again", async () => {
  let jobs = 0;
  const graphTests = await open({ test_seconds: 600, tests_at_once: 2 }, () => (jobs += 1));
  const [ada, bob, carl] = ["ada", "bob", "carl"].map((name) => makeUser(name)) as [User, User, User];
  const isRefused = (code: string, detail: RegExp) => (error: unknown) =>
    error instanceof ServiceError && error.code === code && detail.test(error.message);
  const leaving = new AbortController();
  const running = [ada, bob].map((user) => graphTests.run(user, orderFor(leaving.signal)));
  const ended = Promise.allSettled(running);
  await until(() => jobs === 2);
  await assert.rejects(graphTests.run(ada, orderFor()), isRefused("tests_running", /once at a time/));
  await assert.rejects(graphTests.run(carl, orderFor()), (error: ServiceError) => {
    assert.ok((error.retryAfterSeconds ?? 0) > 0);
    return isRefused("rate_limited", /tests of 2 keys, which is its limit/)(error);
  });
  leaving.abort();
  assert.deepEqual(
    (await ended).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  // Their places are free, until the service ends.
  const last = graphTests.run(carl, orderFor());
  last.catch(() => {});
  await until(() => jobs === 3);
  await graphTests.close();
  await assert.rejects(last, /cancelled/);
  await assert.rejects(graphTests.run(carl, orderFor()), isRefused("shutting_down", /shutting down/));
});
