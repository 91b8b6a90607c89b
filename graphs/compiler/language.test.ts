import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CompileInput } from "./compile.ts";
import { compileText, DETECT, messagesOf } from "./compiler.fixture.ts";
import type { GraphPlan, PlanNode } from "./plan.ts";

function planOf(text: string, input: Partial<CompileInput> = {}): GraphPlan {
  const compiled = compileText(text, input);
  assert.deepEqual(messagesOf(compiled), []);
  assert.ok(compiled.plan !== null);
  return compiled.plan;
}

const nodesOf = (plan: GraphPlan): readonly PlanNode[] =>
  [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
const namesOf = (plan: GraphPlan): readonly string[] => nodesOf(plan).map((node) => node.name);
const propertiesOf = (plan: GraphPlan, name: string) => nodesOf(plan).find((node) => node.name === name)?.properties;

const main = (steps: string, rest = ""): string => `graph: g\n${rest}\nchains: { main: [${steps}] }\n`;

describe("parameters", () => {
  test("a whole-value parameter keeps its type", () => {
    const plan = planOf(main("source, { queue: { max-size-buffers: $n } }, print", "params: { n: { default: 7 } }"));
    assert.deepEqual(propertiesOf(plan, "queue"), { "max-size-buffers": 7 });
  });

  test("inside a longer text a parameter is text, and two dollars are one", () => {
    const plan = planOf(
      main(
        `source, { filesink: { location: "$$/\${n}-\${s}.bin$" } }`,
        "params: { n: { default: 7 }, s: { default: a } }",
      ),
    );
    assert.deepEqual(propertiesOf(plan, "filesink"), { location: "$/7-a.bin$" });
  });

  test("null keeps the default of a GStreamer property", () => {
    const plan = planOf(main("source, { queue: { max-size-buffers: $n } }, print", "params: { n: { default: null } }"));
    assert.deepEqual(propertiesOf(plan, "queue"), {});
  });

  test("a property has its position and the parameters in its value", () => {
    const plan = planOf(main("source, { queue: { max-size-buffers: $n } }, print", "params: { n: { default: 7 } }"));
    const at = { file: "a.yaml", line: 3, column: 55 };
    assert.deepEqual(nodesOf(plan).find((node) => node.name === "queue")?.origins, {
      "max-size-buffers": { at, params: ["n"] },
    });
  });

  test("mode check allows a missing parameter and does not check what depends on it", () => {
    const text = main("source, encode, { publish: { url: $path } }", "params: { path: { type: string } }");
    assert.deepEqual(messagesOf(compileText(text, { mode: "check" })), []);
    assert.deepEqual(
      compileText(text).faults.map((fault) => fault.code),
      ["missing_param"],
    );
  });

  test("in mode check, caps with a missing parameter link to anything", () => {
    const text = main(`source, { caps: "video/x-raw,format=\${f}" }, detect, print`, "params: { f: { type: string } }");
    assert.deepEqual(messagesOf(compileText(text, { mode: "check" })), []);
    assert.deepEqual(
      compileText(text, { params: { f: "RGB" } }).faults.map((fault) => fault.code),
      ["not_linkable"],
    );
  });

  test("mode check allows a missing source, mode run does not", () => {
    const plan = planOf(main("source, print"), { source: null, mode: "check" });
    assert.deepEqual(plan.source, { uri: "test:smpte", pace: "fast" });
  });

  test("the plan has the live parameters and all values", () => {
    const plan = planOf(DETECT, { params: { model: "small" } });
    assert.deepEqual([plan.params, plan.liveParams], [{ model: "small", confidence: 0.4 }, ["confidence"]]);
  });
});

describe("when", () => {
  const params = "params: { a: { default: true }, b: { default: false }, c: { default: h264 }, n: { default: null } }";
  const cases: readonly (readonly [string, boolean])[] = [
    ["a", true],
    ["$a", true],
    ["!a", false],
    ["'!a'", false],
    ["b", false],
    ["!b", true],
    ["n", false],
    ["$c == h264", true],
    ["$c == h265", false],
    ["$c != h265", true],
    ["$n == null", true],
    ["$a == true", true],
    ["true", true],
    ["false", false],
  ];
  for (const [when, kept] of cases) {
    test(`${when} ${kept ? "keeps a step" : "leaves a step out"}`, () => {
      const plan = planOf(main(`source, { queue: { when: ${when} } }, print`, params));
      assert.equal(namesOf(plan).includes("queue"), kept);
    });
  }

  test("leaves a chain or a slot out", () => {
    const text = (flag: boolean) => `graph: g
params: { flag: { default: ${flag} } }
chains:
  main: [source, { tee: { name: t } }, print]
  more: { when: flag, chain: [{ from: t }, fakesink] }
slots:
  s: { when: flag, chain: [{ from: t }, fakesink] }
`;
    assert.deepEqual([planOf(text(true)).branches.length, Object.keys(planOf(text(true)).slots)], [1, ["s"]]);
    assert.deepEqual([planOf(text(false)).branches.length, Object.keys(planOf(text(false)).slots)], [0, []]);
  });

  test("does not change the names of other nodes", () => {
    const plan = planOf(main("source, { queue: { when: b } }, queue, print", params));
    assert.deepEqual(namesOf(plan), ["source", "queue-2", "print"]);
  });

  test("reports a chain that joins a node that is left out", () => {
    const compiled = compileText(`graph: g
params: { b: { default: false } }
chains:
  main: [source, { tee: { name: t, when: b } }, print]
  more: [{ from: t }, fakesink]
`);
    assert.deepEqual(messagesOf(compiled), [
      'a.yaml:5:18: `from:` names "t", which its `when:` leaves out (expected the same `when:` for this chain)',
    ]);
  });

  test("rejects invalid conditions and unknown parameters", () => {
    const compiled = compileText(
      main("source, { queue: { when: 'a && b' } }, { identity: { when: x } }, print", params),
    );
    assert.deepEqual(
      compiled.faults.map((fault) => fault.code),
      ["document_shape", "unknown_param"],
    );
  });
});

describe("extends", () => {
  const load = (name: string) => (name === "detect" ? { file: "detect.yaml", text: DETECT } : undefined);
  const variant = (rest: string) => planOf(`graph: v\nextends: detect\n${rest}`, { load });

  test("set changes properties and keeps the others", () => {
    const plan = variant("set: { detect: { confidence: 0.9 } }");
    assert.deepEqual(propertiesOf(plan, "detect"), { model: "default", confidence: 0.9 });
  });

  test("insert and remove change the chain and keep the names of other nodes", () => {
    const plan = variant(
      "insert:\n  - { before: track, steps: [stage, queue] }\n  - { after: track, steps: [identity] }\nremove: [report, alerts]\n",
    );
    assert.deepEqual(namesOf(plan), [
      ...["source", "decode.bin", "decode.convert", "decode.format", "stage", "detect", "stage-2", "queue", "track"],
      ...["identity", "geolocate", "frames", "detections"],
    ]);
  });

  test("nodes of slots have the address slot/node", () => {
    const compiled = compileText(
      "graph: v\nextends: detect\nset: { feed/jpegenc: { quality: 10 } }\nremove: [feed/stage]\n",
      { load },
    );
    const { segment } = compiled.slot("feed", "1", {});
    assert.deepEqual(
      segment?.nodes.map((node) => [node.name, node.properties]),
      [
        ["feed:1/overlay", {}],
        ["feed:1/jpegenc", { quality: 10 }],
        ["feed:1/feed", {}],
      ],
    );
  });

  test("a redeclared parameter inherits the keywords it does not mention", () => {
    const plan = variant("params: { confidence: { default: 0.7 } }");
    assert.deepEqual([plan.params.confidence, plan.liveParams], [0.7, ["confidence"]]);
    const compiled = compileText("graph: v\nextends: detect\nparams: { confidence: { default: 7 } }", { load });
    assert.deepEqual(
      compiled.faults.map((fault) => [fault.code, fault.at.file]),
      [["bad_param", "a.yaml"]],
    );
  });

  test("a chain or slot replaces the inherited one of the same name; an emptied chain is removed", () => {
    assert.deepEqual(
      variant("chains: { data: [{ from: frames }, print] }").branches[0]?.nodes.map((node) => node.name),
      ["print"],
    );
    assert.deepEqual(variant("remove: [detections]").branches, []);
  });

  test("removes chains and slots, by name alone or by kind and name", () => {
    for (const rest of ["remove: [data, rtsp]", "remove: [{ chain: data }, { slot: rtsp }]"]) {
      const plan = variant(rest);
      assert.deepEqual([plan.branches, Object.keys(plan.slots)], [[], ["feed"]], rest);
    }
    const load = () => ({
      file: "base.yaml",
      text: `graph: base
chains:
  main: [source, decode, { tee: { name: frames } }]
  print: [{ from: frames }, print]
slots:
  main: { chain: [{ from: frames }, print] }
`,
    });
    const remove = (names: string) => compileText(`graph: v\nextends: base\nremove: ${names}\n`, { load });
    // A name alone is the node's first, as it always was.
    assert.deepEqual(remove("[print]").plan?.branches, []);
    assert.deepEqual(remove("[{ chain: print }]").plan?.branches, []);
    assert.deepEqual(remove("[{ slot: main }]").plan?.slots, {});
    assert.deepEqual(messagesOf(remove("[main]")), [
      'a.yaml:3:10: graph "base" has a chain and a slot "main" (expected `chain: main` or `slot: main`)',
    ]);
  });

  test("reports everything that joins a removed node or chain, at its removal", () => {
    const faults = (rest: string) => messagesOf(compileText(`graph: v\nextends: detect\n${rest}`, { load }));
    const missed = (name: string, kind: string, column: number) =>
      `a.yaml:3:${column}: "frames" is removed, but ${kind} "${name}" of graph "detect" has \`from: frames\` ` +
      `(expected \`${kind}: ${name}\` in \`remove\` as well, or a ${kind} "${name}" of your own)`;
    assert.deepEqual(faults("remove: [main]"), [
      missed("data", "chain", 10),
      missed("feed", "slot", 10),
      missed("rtsp", "slot", 10),
    ]);
    assert.deepEqual(faults("remove: [data, rtsp, frames]"), [missed("feed", "slot", 22)]);
    assert.deepEqual(faults("remove: [main, feed, rtsp]\nchains:\n  data: [source, print]\n"), []);
    assert.deepEqual(faults("remove: [{ chain: dta }, { slot: data }, { chain: a, slot: b }]"), [
      'a.yaml:3:19: graph "detect" has no chain "dta" (expected main, data; did you mean "data"?)',
      'a.yaml:3:34: graph "detect" has no slot "data" (expected feed, rtsp)',
      "a.yaml:3:42: `remove` names a map (expected a list of names of nodes, chains and slots: " +
        "`remove: [geolocate, slot/node, { chain: data }, { slot: rtmp }]`)",
    ]);
  });

  test("suggests a similar name for an unknown node", () => {
    const compiled = compileText("graph: v\nextends: detect\nset: { detct: {} }\nremove: [overlay]\n", { load });
    assert.deepEqual(
      compiled.faults.map((fault) => [fault.code, fault.at.line, fault.suggestion]),
      [
        ["unknown_node", 3, "detect"],
        ["unknown_node", 4, "feed/overlay"],
      ],
    );
  });

  test("a fault in the inherited graph is located there", () => {
    const compiled = compileText("graph: v\nextends: base\n", {
      load: () => ({ file: "base.yaml", text: main("source, prit") }),
    });
    assert.deepEqual(
      compiled.faults.map((fault) => fault.at),
      [{ file: "base.yaml", line: 3, column: 26 }],
    );
  });
});

describe("names", () => {
  test("repeats of an element are counted over the whole graph, around the names given", () => {
    const plan = planOf(
      "graph: g\nchains:\n  main: [source, queue, { tee: { name: queue-2 } }, queue, print]\n  b: [{ from: queue-2 }, queue, fakesink]\n",
    );
    assert.deepEqual(namesOf(plan), ["source", "queue", "queue-2", "queue-3", "print", "queue-4", "fakesink"]);
  });

  test("TypeScript elements win over GStreamer elements of the same name", () => {
    const plan = planOf(main("source, print"));
    assert.equal(nodesOf(plan).find((node) => node.name === "print")?.kind, "typescript");
  });
});

describe("the source", () => {
  const cases: readonly (readonly [string, CompileInput["source"], GraphPlan["source"], boolean])[] = [
    ["source", { uri: "clip.mp4" }, { uri: "clip.mp4", pace: "fast" }, false],
    ["source", { uri: "clip.mp4", pace: "realtime" }, { uri: "clip.mp4", pace: "realtime" }, true],
    ["source", { uri: "rtsp://cam/1" }, { uri: "rtsp://cam/1", pace: "realtime" }, true],
    ["source", { uri: "RTMPS://cam/1", pace: "fast" }, { uri: "RTMPS://cam/1", pace: "realtime" }, true],
    ["{ source: { uri: 'test:ball' } }", { uri: "rtsp://cam/1" }, { uri: "test:ball", pace: "fast" }, false],
    ["{ source: { pace: realtime } }", { uri: "clip.mp4", pace: "fast" }, { uri: "clip.mp4", pace: "realtime" }, true],
    ["source", { uri: "a.mp4", loop: true }, { uri: "a.mp4", pace: "realtime", loop: true }, true],
    ["videotestsrc", null, null, false],
    ["{ videotestsrc: { is-live: true } }", null, null, true],
  ];
  for (const [step, binding, source, live] of cases) {
    test(`${step} on ${binding?.uri ?? "nothing"} is ${live ? "live" : "not live"}`, () => {
      const plan = planOf(main(`${step}, stage, print`), { source: binding ?? null });
      assert.deepEqual([plan.source, plan.live], [source, live]);
      assert.equal(propertiesOf(plan, "stage")?.leaky, live ? "downstream" : "no");
    });
  }
});
