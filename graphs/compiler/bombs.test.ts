import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compileText } from "./compiler.fixture.ts";

const NINES = Array.from({ length: 9 }, (_, level) => {
  const inner = level === 0 ? '"lol"' : `*a${level - 1}`;
  return `  a${level}: &a${level} [${Array(9).fill(inner).join(",")}]`;
}).join("\n");

/** Parts that each use the next one twice. */
const doubling = (levels: number, step: string, more = ""): string => {
  const parts = Array.from({ length: levels }, (_, level) => {
    const use = `{ use: { part: p${level + 1}${more} } }`;
    return `  p${level}: { params: { a: { default: x } }, chain: [${use}, ${use}] }`;
  });
  const last = `  p${levels}: { params: { a: { default: x } }, chain: [${step}] }`;
  return `graph: g\nparts:\n${[...parts, last].join("\n")}\nchains: { main: [source, { use: p0 }, print] }\n`;
};

/** Text made to cost more than it is worth. Each must be refused at a place, quickly, and without taking the process down. */
const BOMBS: readonly (readonly [string, string])[] = [
  ["a billion laughs", `graph: g\nparams:\n${NINES}\n`],
  ["an alias of itself", "graph: &g [*g]\n"],
  [
    "merges of merges",
    `a: &a {${Array.from({ length: 5000 }, (_, i) => `k${i}: 1`).join(",")}}\nb: [${Array(5000).fill("{<<: *a}").join(",")}]`,
  ],
  [
    "a list of one merge",
    `a: &a {${Array.from({ length: 5000 }, (_, i) => `k${i}: 1`).join(",")}}\nb: {<<: [${Array(5000).fill("*a").join(",")}]}`,
  ],
  ["brackets", "[".repeat(900_000)],
  ["braces", "{a: ".repeat(200_000)],
  ["brackets hidden in quotes", `["]",`.repeat(100_000)],
  ["brackets over lines", "[\n".repeat(400_000)],
  ["dashes", "- ".repeat(400_000)],
  ["question marks", "? ".repeat(400_000)],
  ["colons", "a: ".repeat(300_000)],
  ["tags", "!a ".repeat(300_000)],
  ["anchors", "&a ".repeat(300_000)],
  ["indentation", Array.from({ length: 1300 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("")],
  ["dashes over lines", Array.from({ length: 1300 }, (_, depth) => `${" ".repeat(depth)}-\n`).join("")],
  ["documents", "---\n".repeat(200_000)],
  ["quotes", `'"`.repeat(450_000)],
  ["one long key", `${"k".repeat(900_000)}: 1`],
  [
    "many steps that cannot be read",
    `graph: g\nchains: { main: [source, ${Array(9000).fill("7").join(",")}, print] }\n`,
  ],
  ["parts that double 20 times", doubling(20, "queue")],
  ["parts that double 15 times", doubling(15, "queue")],
  ["texts in parts that double 15 times", doubling(15, "{ filesink: { location: $a } }", `, a: "\${a}\${a}"`)],
  ["lists in parts that double 15 times", doubling(15, "{ filesink: { location: $a } }", ", a: [$a, $a]")],
  [
    "a large value in many steps of a part",
    `graph: g\nparts: { p: { params: { a: {} }, chain: [${Array(900).fill("{ queue: { leaky: $a } }").join(",")}] } }\nchains: { main: [source, { use: { part: p, a: [${Array(9000).fill("1").join(",")}] } }, print] }\n`,
  ],
  [
    "a large default in many uses of a part",
    `graph: g\nparts: { p: { params: { a: { default: [${Array(9000).fill("1").join(",")}] } }, chain: [queue] } }\nchains: { main: [source, ${Array(5000).fill("{ use: p }").join(",")}, print] }\n`,
  ],
  ["many keys", Array.from({ length: 100_000 }, (_, i) => `k${i}: 1`).join("\n")],
];

describe("text made to be expensive is refused at a place", () => {
  for (const [what, text] of BOMBS) {
    test(what, () => {
      const { plan, faults } = compileText(text);
      assert.equal(plan, null);
      assert.ok(faults.length > 0);
      for (const { at } of faults) assert.ok(at.line >= 1 && at.column >= 1 && at.line <= text.split("\n").length);
    });
  }
});

test("anchors and merge keys are otherwise allowed", () => {
  const text = `graph: g
params:
  a: &number { type: integer, minimum: 0, default: 3 }
  b: { <<: *number, default: 5 }
chains:
  main: [source, { queue: { max-size-buffers: $b } }, print]
`;
  assert.deepEqual(compileText(text).plan?.params, { a: 3, b: 5 });
});

test("a graph has at most 1,000 nodes", () => {
  const steps = Array.from({ length: 1100 }, () => "    - queue").join("\n");
  const { faults } = compileText(`graph: g\nchains:\n  main:\n    - source\n${steps}\n    - print\n`);
  assert.deepEqual(
    faults.map((fault) => [fault.code, fault.at.line]),
    [["yaml_too_complex", 1004]],
  );
});

test("interpolation cannot grow without bound", () => {
  const location = `"${`\${big}`.repeat(1000)}"`;
  const text = `graph: g\nparams: { big: { type: string } }\nchains: { main: [source, { filesink: { location: ${location} } }] }\n`;
  const { faults } = compileText(text, { params: { big: "x".repeat(10_000) } });
  assert.deepEqual(
    faults.map((fault) => fault.code),
    ["yaml_too_complex"],
  );
});

test("extending goes 16 deep at most", () => {
  const load = (name: string) => ({ file: `${name}.yaml`, text: `graph: ${name}\nextends: ${name}x\n` });
  assert.deepEqual(
    compileText("graph: g\nextends: x\n", { load }).faults.map((fault) => fault.code),
    ["yaml_too_complex"],
  );
});
