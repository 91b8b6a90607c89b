/** Graphs that keys store: the real API, database and compiler. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { GraphRecord, GraphSummary, GraphVersion } from "../../schemas/api/graphs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import { loadTestKnowledge } from "../graphs/knowledge.fixture.ts";
import { GraphLibrary } from "../graphs/library.ts";
import { OwnGraphs } from "../graphs/own-graphs.ts";
import { addSource, addUser } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { makeConfig, openApp, type TestApp } from "./app.fixture.ts";
import { graphEndpoints } from "./graphs.ts";

const yard = (every: number, name = "yard") => `graph: ${name}
about: Shows every ${every}th frame.
params:
  confidence: { type: number, minimum: 0, maximum: 1, default: 0.${every} }
chains:
  main: [source, decode, stage, { detect: { confidence: $confidence } }, detections]
`;

let database: TestDatabase;
let library: GraphLibrary;
let app: TestApp;
const users: Record<string, User> = {};
const config = makeConfig({
  ...{ GRAPHS_STORED_PER_KEY: "3", GRAPHS_VERSIONS_PER_GRAPH: "3", GRAPHS_TEXT_BYTES: "4000" },
  GRAPHS_COMPILE_SECONDS: "60",
});

before(async () => {
  database = await testDatabase();
  library = await GraphLibrary.open(await loadTestKnowledge(), config);
  for (const key of ["ada", "bob", "reader"])
    users[key] = { ...(await addUser(database.sql)), isGraphAuthor: key !== "reader" };
  const own = new OwnGraphs({ sql: database.sql, library, config, listModels: async () => [] });
  app = await openApp(graphEndpoints({ library, own, config }), {
    authenticate: async (key) => users[key ?? ""] ?? assert.fail(),
  });
});
after(async () => {
  await app.close(0);
  await library.close();
  await database.close();
});

async function call<T>(method: string, path: string, status: number, body?: string, key = "ada", type?: string) {
  const response = await app.call(path, {
    method,
    headers: { api_key: key, ...(body !== undefined && { "Content-Type": type ?? "application/yaml" }) },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}
const put = (name: string, text: string, status = 201, key = "ada") =>
  call<GraphVersion>("PUT", `/graphs/${name}`, status, text, key);
const refuse = (name: string, text: string, status: number, key = "ada") =>
  call<Problem>("PUT", `/graphs/${name}`, status, text, key);
const list = async (key = "ada") =>
  (await call<{ graphs: GraphSummary[] }>("GET", "/graphs", 200, undefined, key)).graphs;

describe("PUT /graphs/{name}", () => {
  test("stores every new text as a version, and the same text once", async () => {
    const first = await put("yard", yard(1));
    const { created_at: _, ...rest } = first;
    const digest = createHash("sha256").update(yard(1)).digest("hex");
    assert.deepEqual(rest, {
      name: "yard",
      version: 1,
      digest,
      author: users.ada?.username,
      is_current: true,
      bases: [],
    });
    assert.deepEqual(await put("yard", yard(1), 200), first);
    // Line ends and the end of the text do not count.
    assert.deepEqual(await put("yard", `\uFEFF${yard(1).replaceAll("\n", "\r\n")}\r\n`, 200), first);
    assert.equal((await put("yard", yard(2))).version, 2);
  });

  test("makes the version of an earlier text the current one again", async () => {
    assert.equal((await put("yard", yard(1), 200)).version, 1);
    const current = await call<GraphRecord>("GET", "/graphs/yard", 200);
    assert.deepEqual([current.version, current.yaml, current.origin], [1, yard(1), "own"]);
    await put("yard", yard(2), 200);
  });

  test("accepts JSON with the text", async () => {
    const body = JSON.stringify({ yaml: yard(2) });
    const stored = await call<GraphVersion>("PUT", "/graphs/yard", 200, body, "ada", "application/json");
    assert.equal(stored.version, 2);
    await call<Problem>("PUT", "/graphs/yard", 422, '{"text": "x"}', "ada", "application/json");
    await call<Problem>("PUT", "/graphs/yard", 415, "x", "ada", "text/html");
  });

  test("rejects a graph with all its faults, located, and stores nothing", async () => {
    const text = yard(1, "faulty").replace("decode", "decod").replace("$confidence", "2");
    const { code, errors = [] } = await refuse("faulty", text, 422);
    assert.equal(code, "invalid_input");
    const messages = errors.map(({ message }) => message);
    assert.ok(
      messages.some((message) => /^faulty\.yaml:6:18: unknown element "decod".*did you mean "decode"/.test(message)),
      messages.join("\n"),
    );
    assert.ok(
      messages.some((message) => /^faulty\.yaml:6:\d+: .*confidence/.test(message)),
      messages.join("\n"),
    );
    await call<Problem>("GET", "/graphs/faulty", 404);
  });

  test("rejects another name in the text, and elements that clients may not use", async () => {
    const named = await refuse("gate", yard(1), 422);
    assert.match(named.detail, /gate\.yaml:1:8: the graph is named "yard" \(expected "gate"/);
    const reaching = await refuse(
      "gate",
      yard(1, "gate").replace("detections]", "{ filesink: { location: /x } }]"),
      422,
    );
    assert.match(reaching.detail, /"filesink" is not allowed in a graph of a client/);
  });

  test("cannot take the name of an installed graph, nor a path of the API", async () => {
    const taken = await refuse("detect", yard(1, "detect"), 409);
    assert.equal(taken.code, "graph_name_taken");
    assert.match(taken.detail, /extends: detect/);
    await refuse("validate", yard(1, "validate"), 405);
  });

  test("requires a key that may store graphs, and says how to get one", async () => {
    const problem = await refuse("yard", yard(1), 403, "reader");
    assert.equal(problem.code, "graph_author_needed");
    assert.match(problem.detail, /windhover keys create NAME --graph-author/);
    assert.equal((await call<Problem>("DELETE", "/graphs/yard", 403, undefined, "reader")).code, "graph_author_needed");
  });

  test("is limited in size, graphs and versions", async () => {
    assert.equal((await refuse("yard", `${yard(3)}# ${"x".repeat(4000)}`, 413)).code, "body_too_large");
    await put("yard", yard(3));
    const versions = await refuse("yard", yard(4), 403);
    assert.match(versions.detail, /version limit reached for the graph "yard" \(3\)/);
    assert.equal((await put("yard", yard(2), 200)).version, 2);
    await put("two", yard(1, "two"));
    await put("three", yard(1, "three"));
    assert.match((await refuse("four", yard(1, "four"), 403)).detail, /graph limit reached for this key \(3\)/);
    await call("DELETE", "/graphs/three", 200);
    await put("four", yard(1, "four"));
  });
});

describe("stored graphs", () => {
  test("are listed with the installed ones, in pages", async () => {
    const all = await list();
    const byName = all.map(({ name }) => name);
    assert.deepEqual(byName, [...byName].sort());
    assert.deepEqual(
      all.filter(({ origin }) => origin === "own").map(({ name, version }) => [name, version]),
      [
        ["four", 1],
        ["two", 1],
        ["yard", 2],
      ],
    );
    const mine = all.find(({ name }) => name === "yard");
    assert.equal(mine?.about, "Shows every 2th frame.");
    assert.equal(mine?.can_start, true);
    assert.deepEqual(all.find(({ name }) => name === "detect")?.origin, "installed");
    const page = await call<{ graphs: GraphSummary[]; next_cursor: string }>("GET", "/graphs?limit=2", 200);
    const next = await call<{ graphs: GraphSummary[] }>("GET", `/graphs?limit=2&cursor=${page.next_cursor}`, 200);
    assert.deepEqual(
      [...page.graphs, ...next.graphs].map(({ name }) => name),
      byName.slice(0, 4),
    );
  });

  test("have versions, newest first and in pages, each with its text", async () => {
    type Versions = { versions: GraphVersion[]; next_cursor?: string };
    const { versions } = await call<Versions>("GET", "/graphs/yard/versions", 200);
    assert.deepEqual(
      versions.map(({ version, is_current }) => [version, is_current]),
      [
        [3, false],
        [2, true],
        [1, false],
      ],
    );
    const page = await call<Versions>("GET", "/graphs/yard/versions?limit=2", 200);
    const last = await call<Versions>("GET", `/graphs/yard/versions?limit=2&cursor=${page.next_cursor}`, 200);
    assert.deepEqual([...page.versions, ...last.versions], versions);
    const one = await call<GraphRecord>("GET", "/graphs/yard/versions/1", 200);
    assert.deepEqual([one.version, one.yaml, one.faults], [1, yard(1), []]);
    assert.equal((await call<Problem>("GET", "/graphs/yard/versions/9", 404)).code, "graph_not_found");
    await call<Problem>("GET", "/graphs/yard/versions/0", 404);
    await call<Problem>("GET", "/graphs/detect/versions", 404);
  });

  test("are invisible to other keys, which may have the same names", async () => {
    for (const path of ["/graphs/yard", "/graphs/yard/versions", "/graphs/yard/versions/1"])
      await call<Problem>("GET", path, 404, undefined, "bob");
    await call<Problem>("DELETE", "/graphs/yard", 404, undefined, "bob");
    assert.equal((await list("bob")).filter(({ origin }) => origin === "own").length, 0);
    assert.equal((await put("yard", yard(4), 201, "bob")).version, 1);
    assert.equal((await call<GraphRecord>("GET", "/graphs/yard", 200)).yaml, yard(2));
  });

  test("are deleted with all versions, unless a process runs one", async () => {
    const { sql } = database;
    const user = users.ada ?? assert.fail();
    const [uuid, source] = [newUuid(), await addSource(sql, user)];
    await sql`
      insert into processes (uuid, user_uuid, source_uuid, source_url, graph, graph_version, params, has_track_logger,
        desired, state)
      values (${uuid}, ${user.uuid}, ${source}, '', 'yard', 1, '{}', false, 'running', 'running')`;
    const problem = await call<Problem>("DELETE", "/graphs/yard", 409);
    assert.equal(problem.code, "graph_in_use");
    assert.ok(problem.detail.includes(uuid));
    await sql`update processes set state = 'finished' where uuid = ${uuid}`;
    assert.deepEqual(await call("DELETE", "/graphs/yard", 200), { deleted: true, name: "yard" });
    await call<Problem>("GET", "/graphs/yard", 404);
    await call<Problem>("GET", "/graphs/yard/versions/1", 404);
    assert.equal((await call<Problem>("DELETE", "/graphs/detect", 404)).code, "graph_not_found");
  });
});

describe("the bases of a version", () => {
  test("a base that has changed since is named, until the text is stored again", async (context) => {
    const folder = await mkdtemp(join(tmpdir(), "windhover-graphs-"));
    // Not the global `after`: behind an await of a promise that others made, Node attaches it to them.
    context.after(() => rm(folder, { recursive: true, force: true }));
    const install = (name: string, text: string) => writeFile(join(folder, `${name}.yaml`), text);
    await install("lowest", yard(1, "lowest"));
    await install("middle", "graph: middle\nextends: lowest\n");
    await install("other", yard(3, "other"));
    const changing = await GraphLibrary.open(await loadTestKnowledge(), config, pathToFileURL(`${folder}/`));
    const own = new OwnGraphs({ sql: database.sql, library: changing, config, listModels: async () => [] });
    const api = await openApp(graphEndpoints({ library: changing, own, config }), {
      authenticate: async () => users.bob ?? assert.fail(),
    });
    context.after(async () => {
      await api.close(0);
      await changing.close();
    });
    const text = "graph: mine\nextends: middle\nparams: { confidence: { default: 0.5 } }\n";
    const store = async (): Promise<number> => {
      const headers = { api_key: "bob", "Content-Type": "application/yaml" };
      return (await api.call("/graphs/mine", { method: "PUT", headers, body: text })).status;
    };
    const bases = async () => {
      const response = await api.call("/graphs/mine/versions", { headers: { api_key: "bob" } });
      const { versions } = (await response.json()) as { versions: GraphVersion[] };
      return versions.map((version) => version.bases?.map(({ name, has_changed }) => [name, has_changed]));
    };
    assert.equal(await store(), 201);
    await install("other", yard(4, "other"));
    assert.deepEqual(await bases(), [[["middle", false]]], "other graphs do not matter");
    await install("lowest", yard(2, "lowest"));
    assert.deepEqual(await bases(), [[["middle", true]]], "however far below it is");
    assert.equal(await store(), 200);
    assert.deepEqual(await bases(), [[["middle", false]]]);
    await rm(join(folder, "middle.yaml"));
    assert.deepEqual(await bases(), [[["middle", true]]]);
  });
});
