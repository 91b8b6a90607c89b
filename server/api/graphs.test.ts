import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { GraphRecord, ProcessGraph, Validation } from "../../schemas/api/graphs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { loadTestKnowledge } from "../graphs/knowledge.fixture.ts";
import { GraphLibrary } from "../graphs/library.ts";
import { OwnGraphs } from "../graphs/own-graphs.ts";
import { testDatabase } from "../store/database.fixture.ts";
import { makeConfig, openApp } from "./app.fixture.ts";
import { graphEndpoints, processGraphEndpoints } from "./graphs.ts";

const config = makeConfig({ GRAPHS_COMPILE_SECONDS: "60" });
const library = await GraphLibrary.open(await loadTestKnowledge(), config);
const set: unknown[] = [];
/** One process, whose graph prints and stores images. */
const processes = {
  describe: async (_: unknown, __: unknown, format: string) => (format === "json" ? RUNNING : `${format} of it`),
  setProperties: async (_: unknown, __: unknown, nodes: Readonly<Record<string, JsonRecord>>) => {
    set.push(nodes);
  },
  seeEdge: () => assert.fail("must not be seen"),
  start: () => assert.fail("must not start a process"),
};
const node = (step: string, element: string) =>
  ({ name: step, step, element, factory: element, kind: "typescript", properties: {} }) as const;
const RUNNING: ProcessGraph = {
  graph: "demo",
  about: "",
  params: {},
  live_params: [],
  offers: [],
  slots: [],
  segments: [
    {
      name: "main",
      tee: null,
      nodes: [node("print", "print"), node("snapshot", "snapshot"), { ...node("say", "textoverlay"), kind: "native" }],
      links: [],
      steps: [],
    },
  ],
};
const database = await testDatabase();
const own = new OwnGraphs({ sql: database.sql, library, config, listModels: async () => [] });
const app = await openApp([
  ...graphEndpoints({ library, own, config }),
  ...processGraphEndpoints({ library, processes }),
]);
after(async () => {
  await app.close(0);
  await database.close();
  await library.close();
});

const headers = { api_key: "ada" };
const get = (path: string) => app.call(path, { headers });
const read = async <T>(response: Response, status = 200): Promise<T> => {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
};

describe("graphs", () => {
  test("are rejected before they are sent if they are too long", async () => {
    const head = (bytes: number) =>
      `POST /graphs/validate HTTP/1.1\r\nhost: x\r\napi_key: ada\r\ncontent-length: ${bytes}\r\nexpect: 100-continue\r\n\r\n`;
    const rejected = app.connectRaw().send(head(config.http.body_bytes + 1));
    assert.match(await rejected.readHead(), /^HTTP\/1\.1 413 /);
    rejected.close();
    const taken = app.connectRaw().send(head(3));
    assert.match(await taken.readHead(), /^HTTP\/1\.1 100 /);
    assert.match(await taken.send("a: ").readHead(), /^HTTP\/1\.1 200 /);
    taken.close();
  });

  test("are listed, and paged by name", async () => {
    const { graphs } = await read<{ graphs: GraphRecord[] }>(await get("/graphs"));
    const names = graphs.map(({ name }) => name);
    for (const name of ["detect", "record", "gate-counting"]) assert.ok(names.includes(name), name);
    assert.deepEqual(
      graphs.filter(({ can_start }) => !can_start).map(({ name }) => name),
      ["mosaic", "record"],
    );
    const first = await read<{ graphs: GraphRecord[]; next_cursor: string }>(await get("/graphs?limit=2"));
    const rest = await read<{ graphs: GraphRecord[]; next_cursor?: string }>(
      await get(`/graphs?cursor=${first.next_cursor}`),
    );
    assert.deepEqual(
      [...first.graphs, ...rest.graphs].map(({ name }) => name),
      names,
    );
    assert.equal(rest.next_cursor, undefined);
    assert.equal((await read<Problem>(await get("/graphs?cursor=x"), 422)).errors?.[0]?.path, "cursor");
  });

  test("are shown with their params as JSON Schema, their text and the compiled pipeline", async () => {
    const graph = await read<GraphRecord>(await get("/graphs/detect"));
    assert.match(graph.yaml, /^graph: detect$/m);
    assert.equal((graph.params.properties as JsonRecord).confidence !== undefined, true);
    assert.match(graph.pipeline?.launch ?? "", /^gst-launch-1.0 .*filesrc/s);
    assert.ok(graph.pipeline?.segments[0]?.nodes.some(({ element }) => element === "detect"));
  });

  for (const name of ["nothing", "..%2f..%2fetc%2fpasswd", "detect.yaml"])
    test(`${name} is not found`, async () => {
      const { status } = await get(`/graphs/${name}`);
      assert.equal(status, 404);
    });
});

describe("validation", () => {
  const validate = (body: string, type: string) =>
    app.call("/graphs/validate", { method: "POST", headers: { ...headers, "Content-Type": type }, body });
  const GOOD = "graph: a\nchains:\n  main: [source, decode, fakesink]\n";
  const BAD =
    "graph: a\nchains:\n  main:\n    - source\n    - decod\n    - queue: { max-size-bufers: 3 }\n    - fakesink\n";

  for (const type of ["application/yaml", "text/yaml", "text/yaml; charset=utf-8"])
    test(`accepts ${type}`, async () =>
      assert.deepEqual(await read(await validate(GOOD, type)), { valid: true, faults: [] }));

  test("accepts JSON", async () =>
    assert.equal(
      (await read<Validation>(await validate(JSON.stringify({ yaml: GOOD }), "application/json"))).valid,
      true,
    ));

  test("returns all faults, each with line, column and the closest name", async () => {
    const { valid, faults } = await read<Validation>(await validate(BAD, "text/yaml"));
    assert.equal(valid, false);
    assert.deepEqual(
      faults.map(({ line, column, file, suggestion }) => [line, column, file, suggestion]),
      [
        [5, 7, null, "decode"],
        [6, 16, null, "max-size-buffers"],
      ],
    );
  });

  test("a fault that a part of another graph has here is reported with the line of its use", async () => {
    const text =
      "graph: a\nchains:\n  main:\n    - source\n    - decode\n    - use: detect#draw-and-encode\n    - fakesink\n";
    const { faults } = await read<Validation>(await validate(text, "text/yaml"));
    assert.deepEqual(
      faults.map(({ file, code, used_at }) => [file, code, used_at]),
      [["detect.yaml", "missing_metadata", { file: null, line: 6, column: 7 }]],
    );
  });

  for (const [what, body] of [
    ["invalid YAML", "graph: [a"],
    ["an empty body", ""],
    [
      "an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
        .split("")
        .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[i]}`)}]`)
        .join("\n")}\n`,
    ],
    ["deep nesting", "[".repeat(5000)],
    ["a binary", "\u0000\u0001\u0002"],
    ["another graph's file", "graph: a\nextends: /etc/passwd\n"],
    [
      "a part of a file",
      "graph: a\nchains: { main: [source, decode, { use: ./detect.yaml#draw-and-encode }, fakesink] }\n",
    ],
  ] as const)
    test(`${what} is a fault, not an error`, async () => {
      const { valid, faults } = await read<Validation>(await validate(body, "text/yaml"));
      assert.equal(valid, false);
      assert.ok(faults.length > 0);
    });

  for (const [what, body, type, code] of [
    ["another media type", GOOD, "image/png", "media_type_unsupported"],
    ["invalid JSON", "{", "application/json", "malformed_json"],
    ["JSON without the graph", "{}", "application/json", "invalid_input"],
    ["a body that is too large", "x".repeat(2 ** 20 + 1), "text/yaml", "body_too_large"],
  ] as const)
    test(`${what} is rejected with ${code}`, async () => {
      const response = await validate(body, type);
      assert.equal(((await response.json()) as Problem).code, code);
    });
});

describe("elements", () => {
  test("are listed, Windhover's first, and found by a search term", async () => {
    const { elements } = await read<{ elements: { name: string; plugin: string }[] }>(await get("/elements"));
    assert.equal(elements[0]?.plugin, "windhover");
    assert.ok(elements.length > 100);
    const found = await read<{ elements: { name: string }[] }>(await get("/elements?find=VIDEOCROP"));
    assert.ok(found.elements.some(({ name }) => name === "videocrop"));
    assert.ok(found.elements.length < 10);
  });

  for (const name of ["detect", "source", "queue", "filesink", "x264enc"])
    test(`${name} is described`, async () => {
      const element = await read<JsonRecord>(await get(`/elements/${name}`));
      assert.equal(element.name, name);
      assert.ok((element.properties as readonly unknown[]).length > 0);
    });

  test("an unknown element is rejected with the closest name", async () =>
    assert.match((await read<Problem>(await get("/elements/detct"), 404)).detail, /did you mean "detect"/));

  test("every element of this machine matches the schema of the answer", async () => {
    for (const { name } of library.registry.list().filter((_, index) => index % 25 === 0))
      await read(await get(`/elements/${encodeURIComponent(name)}`));
  });
});

describe("the graph of a process", () => {
  const PATH = "/process/01890000-0000-7000-8000-000000000000/graph";
  const patch = (body: unknown) =>
    app.call(PATH, {
      method: "PATCH",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  for (const [format, type] of [
    ["dot", "text/vnd.graphviz"],
    ["mermaid", "text/plain"],
    ["launch", "text/plain"],
  ] as const)
    test(`is returned as ${format}`, async () => {
      const response = await get(`${PATH}?format=${format}`);
      assert.match(response.headers.get("content-type") ?? "", new RegExp(`^${type}`));
      assert.equal(await response.text(), `${format} of it`);
    });

  test("is returned as JSON; an unknown format is rejected", async () => {
    assert.deepEqual(await read(await get(PATH)), RUNNING);
    await read<Problem>(await get(`${PATH}?format=svg`), 422);
  });

  test("accepts values of live properties", async () => {
    const wanted = { print: { every: 3 }, say: { text: "hello" } };
    assert.deepEqual((await read<{ set: unknown }>(await patch(wanted))).set, wanted);
    assert.deepEqual(set.at(-1), wanted);
  });

  test("rejects values that name a file of the server", async () => {
    const before = set.length;
    const problem = await read<Problem>(await patch({ snapshot: { path: "/etc/cron.d/x" }, print: { every: 1 } }), 422);
    assert.deepEqual(
      problem.errors?.map(({ path }) => path),
      ["/snapshot/path"],
    );
    assert.equal(set.length, before);
  });

  for (const body of [{}, { print: {} }, { print: 3 }, [], "x", null])
    test(`rejects ${JSON.stringify(body)}`, async () => {
      await read<Problem>(await patch(body), 422);
    });
});
