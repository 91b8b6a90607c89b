import assert from "node:assert/strict";
import { test } from "node:test";
import { compiledText } from "../../test/graph.fixture.ts";
import { toMermaid } from "./mermaid.ts";

const TEXT = `
graph: drawn
about: A graph to draw.
chains:
  main:
    - source: { uri: "test:ball?frames=5" }
    - decode
    - tee: { name: frames }
  data: [{ from: frames }, stage, { print: { name: lines } }]
slots:
  shots:
    chain: [{ from: frames }, stage, { fakesink: { sync: false } }]
`;

test("a step is a box, a chain a frame, a link an arrow, a slot a dashed one", () => {
  const { plan } = compiledText(TEXT);
  assert.ok(plan);
  const text = toMermaid(plan);
  const ids = new Map([...text.matchAll(/^ +(\w+)\["([^"]+)"\]$/gm)].map(([, id, title]) => [title, id]));
  const arrows = [...text.matchAll(/^ +(\w+) (-->|-\.->) (\w+)$/gm)].map(([, from, arrow, to]) => [from, arrow, to]);
  assert.match(text, /^flowchart LR\n {2}subgraph s0\["main"\]\n/);
  assert.deepEqual(arrows, [
    [ids.get("source"), "-->", ids.get("decode")],
    [ids.get("decode"), "-->", ids.get("frames: tee")],
    [ids.get("frames: tee"), "-->", ids.get("stage")],
    [ids.get("stage"), "-->", ids.get("lines: print")],
    [ids.get("frames: tee"), "-.->", ids.get("slot shots")],
  ]);
  assert.match(text, new RegExp(`^ +class ${ids.get("lines: print")} ours$`, "m"));
});
