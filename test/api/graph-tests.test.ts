/** Tests of graphs in the service: the real service, runners and GStreamer. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { GraphTestReport, GraphVersion } from "../../schemas/api/graphs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll, until } from "../watch.fixture.ts";
import { createKey, TestService, uploadVideo } from "./service.fixture.ts";

const FRAMES = 12;
const ENDLESS = "test:ball?frames=100000000&width=64&height=48";
const folder = temporaryFolder();
const graphs = join(folder, "graphs");

let service: TestService;
let ada: string;
let bob: string;
let source: SourceRecord;

const graph = (tests: string, name = "yard"): string => `graph: ${name}
about: Counts frames.
params:
  every: { type: integer, minimum: 1, default: 1 }
chains:
  main: [source, decode, stage, { videorate: { drop-only: true } }, fakesink]
tests:
${tests}`;

/** Runs until it is ended, in real time: without waiting for the clock it would take all processor time. */
const endless = (name: string): string =>
  graph(ball("frames: 1", ENDLESS), name).replace("fakesink]", "{ fakesink: { sync: true } }]");

const ball = (expect: string, clip = "test:ball?frames=20") => `  ball: { clip: "${clip}", expect: { ${expect} } }\n`;

const put = (text: string, name = "yard", key = ada): Promise<GraphVersion> =>
  service
    .call<GraphVersion>("PUT", `/graphs/${name}`, { body: text, key, headers: { "Content-Type": "application/yaml" } })
    .then(({ body, status, text: answer }) => {
      assert.ok(status === 200 || status === 201, answer);
      return body;
    });
const run = (status: number, json: unknown = {}, name = "yard", key = ada) =>
  service.expect<GraphTestReport>(status, "POST", `/graphs/${name}/test`, { json, key });
const reject = async (status: number, json: unknown = {}, name = "yard", key = ada) =>
  (await run(status, json, name, key)) as unknown as Problem;

before(async () => {
  mkdirSync(graphs);
  const clip = basename(await makeClip(graphs, 8));
  writeFileSync(join(graphs, "porch.yaml"), graph(`  beside: { clip: ${clip}, expect: { frames: 8 } }\n`, "porch"));
  writeFileSync(join(graphs, "bare.yaml"), graph("", "bare").replace("tests:\n", ""));
  writeFileSync(join(graphs, "lost.yaml"), graph("  lost: { clip: lost.mp4, expect: { frames: 8 } }\n", "lost"));
  service = await TestService.start({ env: { WINDHOVER_GRAPHS_FOLDERS: graphs } });
  ada = await createKey(service, "ada", "--graph-author");
  bob = await createKey(service, "bob", "--graph-author");
  source = await uploadVideo(service, await makeClip(folder, FRAMES), { alias: "yard camera", key: ada });
});
after(() => service?.close());

describe("POST /graphs/{name}/test", () => {
  test("answers each number with what was expected, and where", async () => {
    const { version } = await put(
      graph(`${ball("frames: 20")}  wrong: { clip: "test:snow?frames=5", expect: { frames: ">5" } }\n`),
    );
    const report = await run(200);
    assert.deepEqual([report.graph, report.version, report.passed], ["yard", version, false]);
    const [right, wrong] = report.tests.map(({ seconds, ...rest }) => ({ ...rest, hasTaken: seconds > 0 }));
    const found = { key: "frames", found: 20, expected: "20", passed: true, line: 8, column: 58 };
    assert.deepEqual(right, { name: "ball", passed: true, hasTaken: true, numbers: [found], failures: [] });
    assert.deepEqual(wrong?.failures, [{ message: "frames is 5; expected >5", line: 9, column: 58 }]);
    assert.deepEqual(
      (await run(200, { only: ["ball"] })).tests.map(({ name }) => name),
      ["ball"],
    );
  });

  test("runs the current version, or the one that is asked for", async () => {
    const { version } = await put(graph(ball("frames: 20")));
    await put(graph(ball("frames: 3")));
    assert.equal((await run(200)).passed, false);
    const report = await run(200, { version });
    assert.deepEqual([report.version, report.passed], [version, true]);
    assert.equal((await reject(404, { version: 77 })).code, "graph_not_found");
  });

  test("plays an uploaded video by its alias or UUID, and only the owner's", async () => {
    const text = (clip: string, name: string) => graph(ball(`frames: ${FRAMES}`, `source:${clip}`), name);
    for (const clip of ["yard camera", source.uuid.toUpperCase()]) {
      await put(text(clip, "camera"), "camera");
      const report = await run(200, {}, "camera");
      assert.ok(report.passed, JSON.stringify(report));
      await put(text(clip, "camera"), "camera", bob);
      const { code, errors } = await reject(422, {}, "camera", bob);
      assert.equal(code, "invalid_input");
      assert.match(
        errors?.[0]?.message ?? "",
        /^camera\.yaml:8:17: there is no source ".*" \(expected the alias or UUID/,
      );
    }
  });

  test("plays a clip beside an installed graph, and no file for a graph of a client", async () => {
    const report = await run(200, {}, "porch");
    assert.deepEqual([report.version, report.passed], [null, true], JSON.stringify(report));
    assert.match((await reject(422, {}, "lost")).detail, /lost\.yaml:8:17: the service has no clip "lost\.mp4"/);
    for (const clip of ["clip.mp4", "../graphs/lost.yaml", join(graphs, "porch.yaml"), "/etc/passwd"]) {
      await put(graph(ball("frames: 8", clip)));
      const { detail } = await reject(422);
      assert.match(detail, /yard\.yaml:8:17: the service has no clip ".*" for this graph \(expected source:ALIAS/);
    }
    await put(graph('  file: { clip: "test:ball?frames=5", telemetry: /etc/passwd, expect: { frames: 5 } }\n'));
    assert.match((await reject(422)).detail, /`telemetry` is a file, which the service does not read/);
  });

  test("rejects what cannot be met before anything runs, with every fault", async () => {
    await put(
      graph(`${ball("frames: 1")}  a: { clip: "test:ball?frames=5", expect: { tracks: 1, counts.people: 3 } }\n`),
    );
    const { errors = [] } = await reject(422);
    assert.deepEqual(
      errors.map(({ message }) => message.replace(/:\d+: .*/, "")),
      ["yard.yaml:9", "yard.yaml:9"],
    );
  });

  test("answers 404 without such a test, graph or rights to it", async () => {
    await put(graph(ball("frames: 20")));
    const unknown = await reject(404, { only: ["bal"] });
    assert.equal(unknown.code, "test_not_found");
    assert.match(unknown.detail, /did you mean "ball"/);
    assert.equal((await reject(404, {}, "bare")).code, "test_not_found");
    assert.equal((await reject(404, {}, "yard", bob)).code, "graph_not_found");
    const reader = await createKey(service, "reader");
    assert.equal((await reject(403, {}, "porch", reader)).code, "graph_author_needed");
  });

  test("reports why a run failed", async () => {
    await put(
      graph(ball("frames: 20", "source:yard camera")).replace(
        "drop-only: true",
        'drop-only: true } }, { capsfilter: { caps: "video/x-raw,width=77"',
      ),
    );
    const { passed, tests } = await run(200);
    assert.deepEqual([passed, tests[0]?.numbers], [false, []]);
    const [failure] = tests[0]?.failures ?? [];
    assert.deepEqual([failure?.line, failure?.column], [8, 3]);
    assert.match(failure?.message ?? "", /cannot be played/);
  });

  test("runs the tests of a key once at a time, and cancels them when the client disconnects", async () => {
    await put(endless("long"), "long");
    const leaving = new AbortController();
    const started = fetch(`${service.url}/graphs/long/test`, {
      ...{ method: "POST", headers: { api_key: ada }, signal: leaving.signal },
    });
    started.catch(() => {});
    await put(graph(ball("frames: 20")));
    await until(async () => (await service.call("POST", "/graphs/yard/test", { json: {}, key: ada })).status === 409);
    assert.match((await reject(409)).detail, /once at a time/);
    leaving.abort();
    await assert.rejects(started);
    await until(async () => (await service.call("POST", "/graphs/yard/test", { json: {}, key: ada })).status === 200);
  });

  test("runs the tests of two keys at once, and answers 429 to others, who may try again", async () => {
    const carl = await createKey(service, "carl", "--graph-author");
    const text = endless("long");
    const leaving = new AbortController();
    // Again while others have the places.
    const hold = async (key: string): Promise<void> => {
      await put(text, "long", key);
      const request = { method: "POST", headers: { api_key: key }, signal: leaving.signal };
      await poll("the client leaves", async () => (await fetch(`${service.url}/graphs/long/test`, request)).ok);
    };
    const started = [ada, bob].map(hold);
    for (const one of started) one.catch(() => {});
    await put(graph(ball("frames: 20")), "yard", carl);
    const ask = () => service.call<Problem>("POST", "/graphs/yard/test", { json: {}, key: carl });
    const refused = await poll("two keys run tests", async () => {
      const answer = await ask();
      return answer.status === 429 ? answer : null;
    });
    assert.equal(refused.body.code, "rate_limited");
    assert.match(refused.body.detail, /tests of 2 keys, which is its limit/);
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    leaving.abort();
    await Promise.allSettled(started);
    await until(async () => (await ask()).status === 200);
  });
});

test("a test that does not end within the time limit fails, with its position", async () => {
  const limited = await TestService.start({ env: { WINDHOVER_GRAPHS_TEST_SECONDS: "1.5" } });
  try {
    const key = await createKey(limited, "ada", "--graph-author");
    await limited.expect(201, "PUT", "/graphs/yard", { json: { yaml: endless("yard") }, key });
    const report = await limited.expect<GraphTestReport>(200, "POST", "/graphs/yard/test", { json: {}, key });
    const [{ passed, numbers, failures } = assert.fail()] = report.tests;
    assert.deepEqual([report.passed, passed, numbers], [false, false, []]);
    const message = "the run did not end within 1.5 s; limit it with `frames`";
    assert.deepEqual(failures, [{ message, line: 8, column: 3 }]);
  } finally {
    await limited.close();
  }
});
