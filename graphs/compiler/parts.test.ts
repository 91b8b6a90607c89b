import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Compiled } from "./compile.ts";
import { compileText, messagesOf } from "./compiler.fixture.ts";
import type { LoadGraph } from "./graph-levels.ts";
import { explain } from "./plan-to-text.ts";

/** Node names of the main segment, with the properties that the graph sets. */
const nodesOf = ({ plan, faults }: Compiled): readonly string[] => {
  assert.deepEqual(messagesOf({ faults }), []);
  return (plan ?? assert.fail()).main.nodes
    .filter(({ factory }) => ["queue", "jpegenc", "filesink", "identity", "tee"].includes(factory))
    .map(({ name, properties }) => `${name} ${JSON.stringify(properties)}`);
};

const graph = (parts: string, chain: string, more = ""): string => `graph: g
${more}parts:
${parts.trimEnd()}
chains:
  main: [source, decode, ${chain}]
`;

const BUFFER = `
  buffer:
    about: A queue.
    params: { size: { type: integer, minimum: 1, default: 5 } }
    chain: [{ queue: { max-size-buffers: $size } }]
`.slice(1);

const filesOf =
  (files: Readonly<Record<string, string>>): LoadGraph =>
  (name) => {
    const text = files[name];
    return text === undefined ? undefined : { file: name, text, load: filesOf(files) };
  };

describe("a part", () => {
  test("is inlined with its default or a given value", () => {
    const chain = "use: buffer, { use: { part: buffer, size: 7 } }, print";
    assert.deepEqual(nodesOf(compileText(graph(BUFFER, chain.replace("use: buffer", "{ use: buffer }")))), [
      'queue {"max-size-buffers":5}',
      'queue-2 {"max-size-buffers":7}',
    ]);
  });

  test("gets parameters of the graph, as a whole, in a text and in `when`", () => {
    const parts = `
  keep:
    params: { to: { type: string }, kept: { type: boolean }, kind: { type: string } }
    chain:
      - queue: { when: kept }
      - identity: { when: $kind == b }
      - jpegenc: { when: "!kept" }
      - filesink: { location: "/tmp/\${to}-\${kind}.$$x" }
`.slice(1);
    const params = "params: { name: { type: string }, all: { type: boolean, default: true } }\n";
    const chain = `{ use: { part: keep, to: "a-\${name}", kept: $all, kind: b } }`;
    const nodes = (given: Readonly<Record<string, string | boolean>>) =>
      nodesOf(compileText(graph(parts, chain, params), { params: given }));
    assert.deepEqual(nodes({ name: "$n" }), ["queue {}", "identity {}", 'filesink {"location":"/tmp/a-$n-b.$x"}']);
    assert.deepEqual(nodes({ name: "n", all: false }), [
      "identity {}",
      "jpegenc {}",
      'filesink {"location":"/tmp/a-n-b.$x"}',
    ]);
  });

  test("never reads a default or a literal as a reference", () => {
    const parts = `
  save:
    params: { to: { type: string, default: "$name \${name}" }, end: { type: string, default: "5$" } }
    chain: [{ filesink: { location: "\${end}\${to}" } }]
`.slice(1);
    const more = "params: { name: { type: string, default: secret } }\n";
    const location = (use: string) => nodesOf(compileText(graph(parts, use, more)))[0];
    assert.equal(location("{ use: save }"), `filesink {"location":"5$$name \${name}"}`);
    assert.equal(location('{ use: { part: save, to: "{name}" } }'), `filesink {"location":"5$\{name}"}`);
    assert.equal(location('{ use: { part: save, to: "$$name" } }'), 'filesink {"location":"5$$name"}');
    assert.equal(location("{ use: { part: save, to: $name } }"), 'filesink {"location":"5$secret"}');
  });

  test("keeps live parameters live", () => {
    const text = `graph: g
params: { above: { type: number, default: 0.4, live: true } }
parts:
  find: { params: { level: { type: number } }, chain: [{ detect: { confidence: $level } }, track] }
chains: { main: [source, decode, { use: { part: find, level: $above } }, print] }
`;
    const { plan, paramUses } = compileText(text);
    assert.deepEqual(plan?.liveParams, ["above"]);
    assert.deepEqual(
      paramUses.map(({ param, node, property }) => [param, node, property]),
      [["above", "detect", "confidence"]],
    );
  });

  test("is left out as a whole by `when`, besides the conditions of its steps", () => {
    const parts = "  both: { params: { small: { type: boolean } }, chain: [queue, { identity: { when: small } }] }\n";
    const more = "params: { on: { type: boolean }, small: { type: boolean, default: false } }\n";
    const text = graph(parts, "{ use: { part: both, small: $small, when: on } }, print", more);
    const names = (params: Readonly<Record<string, boolean>>) => nodesOf(compileText(text, { params })).join();
    assert.equal(names({ on: false, small: true }), "");
    assert.equal(names({ on: true, small: true }), "queue {},identity {}");
    assert.equal(names({ on: true, small: false }), "queue {}");
  });

  test("gives its nodes the name of the use as a prefix", () => {
    const parts = `
  split: { chain: [{ tee: { name: copies } }] }
  deep: { chain: [{ use: { part: split, name: inner } }, queue, queue] }
`.slice(1);
    const text = `${graph(parts, "{ use: { part: deep, name: outer } }, print")}  more: [{ from: outer-inner-copies }, queue, fakesink]\n`;
    const compiled = compileText(text);
    assert.deepEqual(nodesOf(compiled), [
      'outer-inner-copies {"allow-not-linked":true}',
      "outer-queue {}",
      "outer-queue-2 {}",
    ]);
    assert.deepEqual(
      compiled.plan?.branches.map(({ tee }) => tee),
      ["outer-inner-copies"],
    );
  });

  test("may begin with `from:` and end with `to:` where the chain does", () => {
    const text = `graph: g
parts: { side: { chain: [{ from: frames }, queue, fakesink] } }
chains:
  main: [source, decode, { tee: { name: frames } }, print]
  more: [{ use: side }]
`;
    assert.deepEqual(messagesOf(compileText(text)), []);
    assert.deepEqual(messagesOf(compileText(text.replace("more: [", "more: [queue, "))).slice(0, 1), [
      "a.yaml:2:34: `from:` in the middle of a chain (expected `from:` as its first step), used at a.yaml:5",
    ]);
  });
});

describe("parts of other files", () => {
  const load = filesOf({
    "./video.yaml": `graph: video\nparts:\n  double: { chain: [{ use: single }, { use: more.yaml#tail }] }\n  single: { chain: [queue] }\n`,
    "more.yaml": "graph: more\nextends: rest\nparts: { head: { chain: [queue] } }\n",
    rest: "graph: rest\nparts: { tail: { chain: [identity] } }\n",
  });

  test("use parts of their own file, and of files that they name", () => {
    const text = graph("  single: { chain: [jpegenc] }\n", "{ use: ./video.yaml#double }, print");
    assert.deepEqual(nodesOf(compileText(text, { load })), ["queue {}", "identity {}"]);
  });

  test("are reported when they do not exist", () => {
    const says = (use: string) => messagesOf(compileText(graph(BUFFER, `{ use: ${use} }, print`), { load }));
    assert.deepEqual(says("./video.yaml#singel"), [
      'a.yaml:8:33: "./video.yaml" has no part "singel" (expected double, single; did you mean "single"?)',
    ]);
    assert.deepEqual(says("/etc/passwd#x"), [
      'a.yaml:8:33: unknown graph "/etc/passwd" (expected the name of a graph, the path of a graph file, or PACKAGE/FILE, before `#`)',
    ]);
    assert.deepEqual(says("bufer"), [
      'a.yaml:8:33: the graph has no part "bufer" (expected buffer; did you mean "buffer"?)',
    ]);
  });
});

describe("a graph that extends another", () => {
  const base = graph(BUFFER, "{ use: buffer }, print");
  const load = filesOf({ base });

  test("inherits parts, and replaces them by name in inherited chains", () => {
    const own = "graph: h\nextends: base\n";
    const more = `${own}insert: [{ before: print, steps: [{ use: { part: buffer, size: 2 } }] }]\n`;
    assert.deepEqual(nodesOf(compileText(more, { load })), [
      'queue {"max-size-buffers":5}',
      'queue-2 {"max-size-buffers":2}',
    ]);
    const other = `${own}parts: { buffer: { chain: [identity] } }\n`;
    assert.deepEqual(nodesOf(compileText(other, { load })), ["identity {}"]);
  });

  test("sets, removes and inserts at nodes of a part", () => {
    const text = "graph: h\nextends: base\nset: { queue: { max-size-buffers: 9 } }\n";
    assert.deepEqual(nodesOf(compileText(text, { load })), ['queue {"max-size-buffers":9}']);
    assert.deepEqual(nodesOf(compileText("graph: h\nextends: base\nremove: [queue]\n", { load })), []);
  });
});

describe("faults", () => {
  const says = (text: string, params = {}) => messagesOf(compileText(text, { params }));

  test("in a part name its place, and where it is used", () => {
    const parts = `
  inner: { chain: [{ quueue: {} }] }
  outer:
    chain:
      - use: inner
`.slice(1);
    assert.deepEqual(says(graph(parts, "{ use: outer }, print")), [
      'a.yaml:3:22: unknown element "quueue" (expected a TypeScript element or an installed GStreamer element; `windhover inspect` lists them; did you mean "queue"?), used at a.yaml:6, a.yaml:8',
    ]);
    const plan = compileText(graph(BUFFER, "{ use: buffer }, print")).plan ?? assert.fail();
    assert.match(explain(plan), /queue: queue, line 6, used at line 8 ←/);
  });

  const CASES: readonly (readonly [what: string, use: string, says: string])[] = [
    [
      "a value of the wrong type",
      "{ part: buffer, size: many }",
      'a.yaml:8:55: parameter "size" of part "buffer" is "many" (expected a whole number of at least 1)',
    ],
    [
      "a parameter that the part lacks",
      "{ part: buffer, sise: 2 }",
      'a.yaml:8:49: part "buffer" has no parameter "sise" (expected size; did you mean "size"?)',
    ],
    [
      "a parameter that the graph lacks",
      "{ part: buffer, size: $count }",
      'a.yaml:8:55: no parameter "count" is declared (expected `params: { count: { … } }` in the graph)',
    ],
    [
      "no part",
      "{ size: 2 }",
      "a.yaml:8:33: `use:` names no part (expected `use: PART`, `use: { part: PART, param: value }`, or FILE#PART for a part of another file)",
    ],
    [
      "a value that is not a name",
      "[buffer]",
      'a.yaml:8:33: `use:` names the list ["buffer"] (expected `use: PART`, `use: { part: PART, param: value }`, or FILE#PART for a part of another file)',
    ],
  ];
  for (const [what, use, message] of CASES)
    test(what, () => assert.deepEqual(says(graph(BUFFER, `{ use: ${use} }, print`)), [message]));

  test("a value of the graph's parameter that does not fit the part's", () => {
    const text = graph(BUFFER, "{ use: { part: buffer, size: $n } }, print", "params: { n: { type: integer } }\n");
    assert.deepEqual(says(text, { n: 3 }), []);
    assert.deepEqual(says(text, { n: 0 }), [
      'a.yaml:9:55: parameter "size" of part "buffer" is 0 (expected a whole number of at least 1)',
    ]);
  });

  test("a missing value, a wrong declaration, and a reserved name", () => {
    const declared = (param: string) =>
      graph(`  one: { params: { ${param} }, chain: [queue] }\n`, "{ use: one }, print");
    assert.deepEqual(says(declared("size: { type: integer }")), [
      'a.yaml:5:28: parameter "size" of part "one" is not given (expected `size: …`, a whole number)',
    ]);
    assert.deepEqual(says(declared("size: { type: integr }")).length, 1);
    assert.deepEqual(says(declared("when: { type: boolean, default: true }")), [
      'a.yaml:3:20: a part cannot have a parameter "when" (expected another name: `when` belongs to `use`)',
    ]);
  });

  test("a part refers to its own parameters only, also when nothing uses it", () => {
    const more = "params: { count: { type: integer, default: 1 } }\n";
    assert.deepEqual(says(graph("  one: { chain: [{ queue: { max-size-buffers: $count } }] }\n", "print", more)), [
      'a.yaml:4:47: part "one" has no parameter "count" (expected `params: { count: { … } }` in the part)',
    ]);
  });

  test("parts that use each other in a cycle", () => {
    const parts = "  a: { chain: [{ use: b }] }\n  b: { chain: [queue, { use: a }] }\n";
    assert.deepEqual(says(graph(parts, "{ use: a }, print")), [
      "a.yaml:4:30: the parts use each other in a cycle: a → b → a, used at a.yaml:3, a.yaml:6",
    ]);
    assert.equal(says(graph(parts, "print")).length, 1);
  });

  test("two uses that give two nodes one name", () => {
    const parts = "  one: { chain: [{ queue: { name: q } }] }\n";
    assert.deepEqual(says(graph(parts, "{ use: one }, { use: one }, print")), [
      'a.yaml:3:35: two nodes are named "q"; the first is of the use on line 5 (expected a name of its own for each use of the part: `use: { part: …, name: … }`), used at a.yaml:5',
    ]);
  });
});
