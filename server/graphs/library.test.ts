import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { loadTestKnowledge } from "./knowledge.fixture.ts";
import { GraphLibrary } from "./library.ts";

const CONFIG = { graphs: { compile_seconds: 20, queued_per_key: 4, author_elements: [] } };
const LIMITS = { loadMs: 60_000, bytes: 2 ** 27, queued: 4, idleMs: 60_000 };

const knowledge = await loadTestKnowledge();
const library = await GraphLibrary.open(knowledge, CONFIG, undefined, LIMITS);
after(() => library.close());

/** Whose check takes for ever. */
const BOMB = `graph: bomb
params: { x: { type: string, pattern: "^(a+)+$", default: "${"a".repeat(40)}!" } }
chains: { main: [source, decode, fakesink] }
`;

const CLIP = "/srv/private/clip.mp4";
const prepare = (params: JsonRecord = {}, graph = "detect") => library.prepare({ graph, params, sourceUri: CLIP });

async function refused(attempt: Promise<unknown>): Promise<ServiceError> {
  const error = await attempt.then(
    () => assert.fail("it was accepted"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

const faultsOf = (error: ServiceError) => (error.errors ?? []).map(({ path, message }) => `${path} ${message}`);

describe("an installed graph", () => {
  test("is prepared with all its params, on its source in real time", async () => {
    const { params, plan, offers } = await prepare({ confidence: 0.7 });
    assert.equal(params.confidence, 0.7);
    assert.equal(params.model, "default");
    assert.deepEqual(plan.source, { uri: CLIP, pace: "realtime" });
    assert.ok(offers.has("detections"));
  });

  test("offers what its plan has, whatever its name", async () => {
    const { offers, slots } = await prepare({}, "demo");
    assert.equal(offers.has("detections"), false);
    assert.ok(offers.has("snapshots"));
    assert.deepEqual(Object.keys(slots), ["snapshots"]);
  });

  test("that is unknown is reported with those installed", async () => {
    const error = await refused(prepare({}, "detct"));
    assert.equal(error.code, "graph_not_found");
    assert.match(error.message, /installed: .*\bdemo, detect\b.*; did you mean "detect"\?$/);
  });

  for (const name of ["../detect", "detect.yaml", "/etc/passwd", "", "a".repeat(500), "compiler/detect"])
    test(`is never a path: ${JSON.stringify(name.slice(0, 20))}`, async () =>
      assert.equal((await refused(prepare({}, name))).code, "graph_not_found"));
});

describe("params that do not fit", () => {
  test("are reported all at once, each with its path", async () => {
    const error = await refused(prepare({ confidnce: 0.5, confidence: 7, classes: ["person", 3] }));
    assert.equal(error.code, "invalid_input");
    const faults = faultsOf(error);
    assert.equal(faults.length, 3);
    assert.match(
      faults[0] ?? "",
      /^\/params\/confidnce is not a param of this graph; expected .*; did you mean "confidence"\?$/,
    );
    assert.match(faults[1] ?? "", /^\/params\/confidence is .*7.*expected/);
    assert.match(faults[2] ?? "", /^\/params\/classes\/1 is .*3/);
  });

  test("are reported together with a model that is not installed, each path once", async () => {
    const faults = faultsOf(await refused(prepare({ confidence: 7, model: "defualt" })));
    assert.equal(faults.length, 2);
    assert.match(faults[0] ?? "", /^\/params\/confidence /);
    assert.match(faults[1] ?? "", /^\/params\/model .*did you mean "default"\?/);
    const shapeless = faultsOf(await refused(prepare({ confidence: 7, model: 7 })));
    assert.deepEqual(
      shapeless.map((fault) => fault.split(" ")[0]),
      ["/params/confidence", "/params/model"],
    );
  });

  for (const name of ["source", "uri"])
    test(`${name} cannot be a param`, async () => {
      const error = await refused(prepare({ [name]: "/etc/passwd" }));
      assert.match(faultsOf(error)[0] ?? "", new RegExp(`^/params/${name} cannot be a param: .*source_uuid`));
    });

  for (const model of ["/etc/passwd", "../default", "./default.yaml", "https://a.example/m.onnx", "defualt", "", "a/b"])
    test(`model ${JSON.stringify(model)} is rejected, with the names of those installed`, async () => {
      const error = await refused(prepare({ model }));
      assert.equal(error.code, "invalid_input");
      assert.match(faultsOf(error)[0] ?? "", /^\/params\/model /);
      if (model !== "")
        assert.match(faultsOf(error)[0] ?? "", /not the name of an installed model; installed: default,/);
    });

  test("a class that the model does not have is rejected, with the one that was probably meant", async () => {
    const faults = faultsOf(await refused(prepare({ classes: ["persn", "car"] })));
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", /^\/params\/classes .*"persn".*model default; .*; did you mean "person"\?$/);
  });

  test("suggests an installed model with a similar name", async () =>
    assert.match((await refused(prepare({ model: "defualt" }))).message, /did you mean "default"\?/));

  test("that refer to files of the server are rejected, whatever graph declares them", async () => {
    for (const [graph, params] of [
      ["record", { path: "/tmp/x.mp4" }],
      ["preview", { poster: "/tmp/x.jpg" }],
    ] as const) {
      const error = await refused(prepare(params, graph));
      assert.match(faultsOf(error)[0] ?? "", /cannot be set by clients: .*leave it out/);
    }
  });

  test("no message contains the path of the source", async () => {
    const error = await refused(library.prepare({ graph: "detect", params: {}, sourceUri: "gopher://u:secret@h/x" }));
    assert.doesNotMatch(JSON.stringify([error.message, error.errors]), /secret|gopher:\/\//);
  });

  test("names of the prototype are not params", async () => {
    const params = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}');
    assert.equal(faultsOf(await refused(prepare(params))).length, 3);
  });
});

describe("graphs of another folder", () => {
  test("are read at each use, with what they extend", async () => {
    const folder = mkdtempSync(join(tmpdir(), "graphs-"));
    const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.yaml`), text);
    const base = (level: number) => `graph: base
params: { level: { type: number, default: ${level} } }
chains: { main: [source, decode, videobalance: { contrast: $level }, fakesink] }
`;
    write("base", base(0.5));
    write("variant", "graph: variant\nextends: base\n");
    const own = await GraphLibrary.open(knowledge, CONFIG, pathToFileURL(`${folder}/`), LIMITS);
    try {
      const levelOf = async () => (await own.prepare({ graph: "variant", params: {}, sourceUri: CLIP })).params.level;
      assert.equal(await levelOf(), 0.5);
      write("base", base(0.7));
      assert.equal(await levelOf(), 0.7);
      write("base", "graph: base\nchains: { main: [nothing] }\n");
      assert.match(faultsOf(await refused(levelOf())).join(), /base.yaml:2:\d+: .*nothing/);
      assert.equal((await own.list()).find(({ name }) => name === "base")?.faults.length, 1);
    } finally {
      await own.close();
      rmSync(folder, { recursive: true });
    }
  });
});

describe("parts of files in another folder", () => {
  const PART = (level: number) =>
    `graph: parts\nparts: { balance: { chain: [{ videobalance: { contrast: ${level} } }] } }\n`;
  const USE = (part: string) => `graph: own\nchains: { main: [source, decode, { use: ${part} }, fakesink] }\n`;
  const folder = mkdtempSync(join(tmpdir(), "graphs-"));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  let own: GraphLibrary;
  before(async () => {
    write("graphs/installed.yaml", USE("./parts/video.yaml#balance"));
    write("graphs/packaged.yaml", USE("filters/video.yaml#balance"));
    write("graphs/outside.yaml", USE("../outside.yaml#balance"));
    write("graphs/parts/video.yaml", PART(0.5));
    write("outside.yaml", PART(0.5));
    write("node_modules/filters/package.json", '{ "name": "filters", "version": "1.0.0" }');
    write("node_modules/filters/video.yaml", PART(0.3));
    own = await GraphLibrary.open(knowledge, CONFIG, pathToFileURL(`${folder}/graphs/`), LIMITS);
  });
  after(async () => {
    await own.close();
    rmSync(folder, { recursive: true });
  });
  const contrastOf = async (graph: string) => {
    const { plan } = await own.prepare({ graph, params: {}, sourceUri: CLIP });
    return plan.main.nodes.find(({ factory }) => factory === "videobalance")?.properties.contrast;
  };

  test("are used by installed graphs, also of a package, and read at each use", async () => {
    assert.equal(await contrastOf("installed"), 0.5);
    assert.equal(await contrastOf("packaged"), 0.3);
    write("graphs/parts/video.yaml", PART(0.7));
    assert.equal(await contrastOf("installed"), 0.7);
    write("graphs/parts/video.yaml", "graph: parts\nparts: { balance: { chain: [nothing] } }\n");
    assert.match(
      faultsOf(await refused(contrastOf("installed"))).join(),
      /parts\/video.yaml:2:\d+: .*nothing.*, used at installed.yaml:2/,
    );
  });

  test("outside of the folder are not read", async () => {
    assert.match(faultsOf(await refused(contrastOf("outside"))).join(), /unknown graph "..\/outside.yaml"/);
  });

  for (const part of ["./parts/video.yaml", "parts/video.yaml", "filters/video.yaml", "../outside.yaml", "/etc/passwd"])
    test(`${part} is not read for a client`, async () => {
      const faults = await own.validate(USE(`${part}#balance`));
      assert.deepEqual(
        faults.map(({ code, message }) => [code, message]),
        [["unknown_graph", `unknown graph "${part}"`]],
      );
    });
});

describe("listing", () => {
  test("has the params and offers of each graph, and params that clients may not set", async () => {
    const graphs = await library.list();
    const record = graphs.find(({ name }) => name === "record");
    assert.deepEqual(record?.reserved, ["path"]);
    assert.deepEqual(graphs.find(({ name }) => name === "detect")?.reserved, []);
    assert.ok(graphs.every(({ faults }) => faults.length === 0));
  });
});

describe("a graph that is tried", () => {
  const attempt = (graphText: string, params: JsonRecord = {}) =>
    library.prepare({ graph: "try", graphText, params, sourceUri: CLIP });
  const GRAPH = `graph: mine
params: { level: { type: number, default: 0.4 } }
chains:
  main: [source, decode, stage, detect: { confidence: $level }, track, detections]
`;

  test("runs on the source of the process", async () => {
    const { plan, params, offers } = await attempt(GRAPH, { level: 0.9 });
    assert.equal(plan.source?.uri, CLIP);
    assert.deepEqual(params, { level: 0.9 });
    assert.ok(offers.has("detections"));
  });

  test("with elements that are not allowed is rejected with line and column", async () => {
    const error = await refused(attempt(GRAPH.replace("track,", "record: { path: /tmp/x },")));
    assert.equal(error.code, "invalid_input");
    assert.match(faultsOf(error)[0] ?? "", /^\/yaml graph.yaml:4:\d+: "record" is not allowed/);
  });

  test("may extend an installed graph, whose elements must be allowed as well", async () => {
    const variant = (base: string) => `graph: mine\nextends: ${base}\n`;
    assert.match(
      faultsOf(await refused(attempt(variant("record"), { path: "/tmp/x.mp4" }))).join(),
      /"record" is not allowed/,
    );
    assert.match(faultsOf(await refused(attempt(variant("../../etc/passwd")))).join(), /unknown graph/);
    const { slots, offers } = await attempt(variant("detect"));
    assert.deepEqual(Object.keys(slots).sort(), ["feed", "view"], "those that record or publish are left out");
    assert.ok(!offers.has("rtsp") && !offers.has("recording"));
  });

  test("whose check never ends affects only itself", async () => {
    const config = { graphs: { ...CONFIG.graphs, compile_seconds: 2 } };
    const quick = await GraphLibrary.open(knowledge, config, undefined, LIMITS);
    try {
      const error = await refused(quick.validate(BOMB));
      assert.match(error.message, /takes too long or/);
      assert.ok((await quick.prepare({ graph: "detect", params: {}, sourceUri: CLIP })).offers.has("detections"));
      assert.deepEqual(await quick.validate(GRAPH), []);
    } finally {
      await quick.close();
    }
  });

  test("of one user does not delay other users, and is dropped with its client", async () => {
    const config = { graphs: { ...CONFIG.graphs, compile_seconds: 600 } };
    const open = await GraphLibrary.open(knowledge, config, undefined, { ...LIMITS, queued: 40 });
    try {
      await open.validate(GRAPH, { userUuid: "ada" });
      const [first, others] = [new AbortController(), new AbortController()];
      const attack = ({ signal }: AbortController) => refused(open.validate(BOMB, { userUuid: "eve", signal }));
      const begun = attack(first);
      const attempts = Array.from({ length: 40 }, () => attack(others));
      const ada = open.validate(GRAPH, { userUuid: "ada" });
      assert.equal((await Promise.race(attempts)).code, "rate_limited", "of one user few wait");
      // The first is being compiled. It ends because its client hangs up; the next is another user's.
      first.abort();
      assert.deepEqual(await ada, []);
      others.abort();
      const codes = (await Promise.all([begun, ...attempts])).map(({ code }) => code);
      assert.equal(
        codes.filter((code) => code === "malformed_request").length,
        5,
        "nothing is compiled for disconnected clients",
      );
      assert.deepEqual(await open.validate(GRAPH, { userUuid: "ada" }), []);
    } finally {
      await open.close();
    }
  });

  test("is queued, and rejected when the queue is full", async () => {
    const many = await Promise.allSettled(Array.from({ length: 30 }, () => library.validate(GRAPH)));
    const reasons = many.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    assert.ok(many.length - reasons.length >= LIMITS.queued);
    assert.ok(reasons.length > 0);
    for (const reason of reasons) assert.equal((reason as ServiceError).code, "rate_limited");
  });
});
