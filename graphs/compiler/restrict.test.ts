/** What people who are no operators may write, held against the GStreamer of this machine. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadElements } from "../../elements/index.ts";
import { loadRegistry } from "../runtime/registry.ts";
import { compile } from "./compile.ts";
import { readGraph } from "./extend-document.ts";
import { FaultList, formatFault } from "./fault.ts";
import {
  ALLOWED_ELEMENTS,
  FREE_TEXTS,
  findUnknownClasses,
  keepsSlot,
  listReserved,
  reachOf,
  restrictAuthor,
} from "./restrict.ts";

const MODELS = [
  { name: "default", labels: ["person", "car"] },
  { name: "quality", labels: ["person", "boat"] },
];
const knowledge = { elements: await loadElements(), registry: loadRegistry(), models: MODELS };

const graphOf = (step: string, params = "", slot = ""): string => `graph: tried
about: Of an author who is not trusted.
${params}
chains:
  main:
    - source
    - decode
    - stage
    - ${step}
    - tee: { name: frames }
${slot}
`;

/** The operator allows nothing besides. */
const NONE: ReadonlySet<string> = new Set();

function judge(text: string, authorElements: ReadonlySet<string> = NONE): readonly string[] {
  const faults = new FaultList("tried.yaml");
  const document = readGraph({ file: "tried.yaml", text }, { ...knowledge, load: () => undefined }, faults);
  assert.ok(document !== null && faults.size === 0, faults.sorted().map(formatFault).join("\n"));
  const defaults = document.params.map(({ name, schema }) => [name, schema.default ?? null]);
  restrictAuthor(document, Object.fromEntries(defaults), { ...knowledge, authorElements }, faults);
  return faults.sorted().map(formatFault);
}

describe("of all that GStreamer has here", () => {
  const factories = knowledge.registry.list();
  /** What opens, connects, loads or chooses by itself, by GStreamer's own words for it. */
  const isDangerous = (klass: string): boolean =>
    /Source|Sink|File|Network|Device|Hardware|Bin\b|Muxer|Demuxer|Generic\/Bin/.test(klass);

  test("no source, sink, bin or device is allowed, but the sink that ends a chain", () => {
    const allowed = factories.filter(({ name, klass }) => ALLOWED_ELEMENTS.has(name) && isDangerous(klass));
    assert.deepEqual(
      allowed.map(({ name }) => name),
      ["fakesink"],
    );
    assert.ok(factories.filter(({ klass }) => isDangerous(klass)).length > 300, "the words still find them");
  });

  test("everything that is not on the list is refused by its name", () => {
    const others = factories.filter(({ name }) => !ALLOWED_ELEMENTS.has(name) && !knowledge.elements.has(name));
    assert.ok(others.length > 1000);
    const steps = others.map(({ name }) => `    - ${name}`).join("\n");
    const refused = judge(`graph: tried\nchains:\n  main:\n    - source\n${steps}\n`);
    assert.equal(refused.length, others.length);
  });

  for (const name of [
    ...["filesrc", "filesink", "multifilesrc", "multifilesink", "splitmuxsink", "splitmuxsrc", "fdsrc", "fdsink"],
    ...["udpsrc", "udpsink", "tcpclientsrc", "tcpclientsink", "tcpserversink", "souphttpsrc", "rtmpsrc", "rtmp2sink"],
    ...["rtspsrc", "rtspclientsink", "playbin", "playbin3", "uridecodebin", "urisourcebin", "giosrc", "giosink"],
    ...["shmsrc", "shmsink", "v4l2src", "queue2", "downloadbuffer", "x264enc", "appsrc", "appsink"],
  ])
    test(`${name} is refused`, () => {
      const [fault] = judge(graphOf(name));
      assert.match(fault ?? "", new RegExp(`^tried.yaml:9:7: .*${name}.*is not allowed`));
    });

  test("rejects an element with a pointer to the list, and suggests none that only has a similar name", () => {
    assert.deepEqual(judge(graphOf("record: { path: out.mp4 }")), [
      'tried.yaml:9:7: "record" is not allowed in a graph of a client (expected elements that reach nothing outside the graph: `can_try` in `GET /elements`; the operator allows others with `graphs.author_elements`)',
    ]);
  });

  test("what is allowed takes no text beyond those that are known to be harmless", () => {
    const texts = factories
      .filter(({ name }) => ALLOWED_ELEMENTS.has(name))
      .flatMap(({ name }) =>
        Object.entries(knowledge.registry.get(name)?.properties ?? {}).map((entry) => [name, entry] as const),
      )
      .filter(
        ([name, [property, info]]) =>
          info.writable && reachOf(name, property, knowledge) === "inside" && info.kind === "string",
      )
      .map(([name, [property]]) => `${name}.${property}`);
    const listed = Object.entries(FREE_TEXTS).flatMap(([name, properties]) =>
      properties.map((text) => `${name}.${text}`),
    );
    for (const text of texts) assert.ok(listed.includes(text), text);
    for (const text of [...texts, ...listed])
      assert.doesNotMatch(text, /location|uri|file|path|dir|host|address|device|cmd|template/i);
  });
});

describe("of our own elements", () => {
  for (const name of ["record", "snapshot", "print"])
    test(`${name} is refused`, () => assert.match(judge(graphOf(name)).join(), /is not allowed/));

  for (const [what, step] of [
    ["where the video comes from", 'source: { name: other, uri: "file:///etc/passwd" }'],
    ["another camera", "source: { name: other, uri: 'rtsp://10.0.0.1/' }"],
    ["libraries to compute with", "detect: { providers: [../../evil] }"],
    ["a dump of all that passes", "identity: { dump: true }"],
  ] as const)
    test(`cannot say ${what}`, () => assert.match(judge(graphOf(step)).join(), /is not allowed/));

  for (const model of ["/etc/passwd", "../default", "https://a.example/x", "card.yaml", "dfault"])
    test(`the model ${model} is refused, with those that are installed`, () => {
      const [fault] = judge(graphOf(`detect: { model: "${model}" }`));
      assert.match(fault ?? "", /is not the name of an installed model; installed: default, quality/);
    });

  test("checks a model that comes from a param", () => {
    const params = (value: string) => `params:\n  m: { type: string, default: "${value}" }`;
    assert.deepEqual(judge(graphOf("detect: { model: $m }", params("quality"))), []);
    assert.equal(judge(graphOf("detect: { model: $m }", params("/etc/passwd"))).length, 1);
    const glued = ["detect: { model: ", '"$', '{m}.yaml" }'].join("");
    assert.match(judge(graphOf(glued, params("quality"))).join(), /composed of several/);
  });

  test("slots are held to the same", () => {
    const slot = (step: string) =>
      `slots:\n  feed:\n    chain:\n      - from: frames\n      - ${step}\n      - fakesink\n`;
    assert.equal(judge(graphOf("stage", "", slot("detect: { model: /etc/passwd }"))).length, 1);
    assert.deepEqual(judge(graphOf("stage", "", slot("overlay: { classes: [person] }"))), []);
  });

  test("parts are held to the same, with the values of their uses", () => {
    const parts =
      "parts:\n  find: { params: { m: { type: string } }, chain: [{ detect: { model: $m } }] }\n  save: { chain: [{ filesink: { location: /tmp/x } }] }\n";
    const find = (model: string) => judge(graphOf(`use: { part: find, m: ${model} }`, parts));
    assert.deepEqual(find("quality"), []);
    assert.equal(find("/etc/passwd").length, 1);
    assert.match(judge(graphOf("use: save", parts)).join(), /"filesink" is not allowed.*, used at tried.yaml:/);
  });

  test("a parameter that reaches a file through a part cannot be set by clients", () => {
    const text = `graph: g
params: { folder: { type: string, default: . }, level: { type: number, default: 0.5 } }
parts:
  save: { params: { to: { type: string }, above: { type: number } }, chain: [{ detect: { confidence: $above } }, { filesink: { location: $to } }] }
chains: { main: [source, decode, { use: { part: save, to: "\${folder}/x", above: $level } }] }
`;
    const document =
      readGraph({ file: "a.yaml", text }, { ...knowledge, load: () => undefined }, new FaultList("a.yaml")) ??
      assert.fail();
    assert.deepEqual([...listReserved(document, knowledge)], [["folder", "filesink.location"]]);
  });

  test("leaves out slots that write or send", () => {
    const slots = `slots:
  picture: { chain: [{ from: frames }, stage, { snapshot: { path: /etc/x.jpg } }] }
  boxes: { chain: [{ from: frames }, stage, overlay, fakesink] }
`;
    const text = graphOf("detect", "", slots);
    assert.deepEqual(judge(text), []);
    const { plan, faults } = compile({ file: null, text }, { ...knowledge, mode: "check", keepSlot: keepsSlot(NONE) });
    assert.deepEqual(faults, []);
    assert.deepEqual(Object.keys(plan?.slots ?? {}), ["boxes"]);
  });

  test("allows what the operator allows, with all its properties, and nothing else", () => {
    const slots = "slots:\n  file: { chain: [{ from: frames }, stage, encode, { record: { path: /etc/x.mp4 } }] }\n";
    const record = new Set(["record"]);
    assert.deepEqual(judge(graphOf("record: { path: /etc/x.mp4 }"), record), []);
    assert.deepEqual(judge(graphOf("stage", "", slots), record), []);
    assert.match(judge(graphOf("snapshot: { path: x.jpg }"), record).join(), /"snapshot" is not allowed/);
    const { plan } = compile(
      { file: null, text: graphOf("stage", "", slots) },
      { ...knowledge, mode: "check", keepSlot: keepsSlot(record) },
    );
    assert.deepEqual(Object.keys(plan?.slots ?? {}), ["file"]);
  });

  test("a slot's param cannot bring a model in", () => {
    const slot =
      "slots:\n  feed:\n    params: { m: { type: string } }\n    chain:\n      - from: frames\n      - detect: { model: $m }\n      - fakesink\n";
    assert.equal(judge(graphOf("stage", "", slot)).length, 1);
    const same = "params:\n  m: { type: string, default: quality }";
    assert.equal(judge(graphOf("stage", same, slot)).length, 1);
  });

  test("reports all faults at once, with their lines", () => {
    const faults = judge(
      graphOf("filesink: { location: /tmp/x }\n    - udpsink: { host: a }\n    - identity: { dump: true }"),
    );
    assert.equal(faults.length, 3);
    assert.deepEqual(
      faults.map((fault) => fault.split(":")[1]),
      ["9", "10", "11"],
    );
  });

  test("an ordinary graph passes", () => {
    const steps =
      "detect: { classes: [person], confidence: 0.5 }\n    - track\n    - overlay\n    - textoverlay: { text: hello }";
    assert.deepEqual(judge(graphOf(steps)), []);
  });

  test("allows a graph that geolocates, but not one that sends to maps", () => {
    const steps = [
      "detect",
      "telemetry: { offset-ms: auto, join: latest }",
      "track",
      "geolocate: { max-distance-m: 500 }",
      "alerts: { rules: [{ alert: found, type: filter-search }] }",
      "report",
    ].join("\n    - ");
    assert.deepEqual(judge(graphOf(steps)), []);
    assert.match(judge(graphOf(`${steps}\n    - cot: { url: "udp://239.2.3.1:6969" }`)).join(), /is not allowed/);
  });
});

describe("classes", () => {
  const PARAMS =
    "params: { model: { type: string, default: default }, wanted: { type: array, items: { type: string }, default: [] } }";
  const find = (step: string, values: Readonly<Record<string, string | string[]>> = {}) => {
    const faults = new FaultList("tried.yaml");
    const graph = { file: "tried.yaml", text: graphOf(step, PARAMS) };
    const document = readGraph(graph, { ...knowledge, load: () => undefined }, faults);
    assert.ok(document);
    return findUnknownClasses(document, values, MODELS);
  };
  const BY_PARAMS = "detect: { model: $model, classes: $wanted }";

  test("those of the model are accepted", () => {
    assert.deepEqual(find(BY_PARAMS, { model: "quality", wanted: ["boat", "person"] }), []);
    assert.deepEqual(find("detect: { classes: [car] }"), []);
    assert.deepEqual(find("detect: {}"), []);
  });

  test("others are faults of the parameter that names them, with a suggestion", () => {
    const [fault, more] = find(BY_PARAMS, { model: "default", wanted: ["persn", "car"] });
    assert.equal(more, undefined);
    assert.equal(fault?.param, "wanted");
    assert.match(fault.message, /"persn", which is not a class of the model default; .*; did you mean "person"\?$/);
  });

  test("or of the place in the graph", () => {
    const [fault] = find("detect: { model: quality, classes: [car] }");
    assert.deepEqual([fault?.param, fault?.at.line], [null, 9]);
  });
});
