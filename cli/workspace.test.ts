import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { elementText, SETTINGS, writeFiles } from "../elements/outside.fixture.ts";
import { makeFolder, spawnWindhover, windhover } from "./windhover.fixture.ts";

const folder = makeFolder();
const CARD = readFileSync(fileURLToPath(new URL("../models/cards/default.yaml", import.meta.url)), "utf8");

writeFiles(folder, {
  "windhover.yaml": SETTINGS,
  "models/yard.yaml": CARD.replace("model: default", "model: yard"),
  "elements/number/number.ts": elementText("number", {
    properties: "start: Type.Integer({ default: 1, description: 'First.' })",
    create: `return {
      process(frame) {
        if (frame.index === 3) throw new Error("no more");
        frame.write({ number: properties.start + frame.index });
      },
    };`,
  }),
  "graphs/numbers.yaml": `graph: numbers
chains:
  main:
    - source
    - decode
    - number: { start: 7 }
    - print: { keys: [number] }
`,
  "graphs/later.yaml": "graph: later\nextends: numbers\nset:\n  number: { start: 9 }\n",
  "graphs/wrong.yaml": "graph: wrong\nextends: numbers\nset:\n  number: { strat: 9 }\n",
});
const inside = join(folder, "graphs/deep");
mkdirSync(inside);

test("a graph of the workspace runs by its name from any folder in it, with elements of the workspace", async () => {
  const { code, lines, stderr } = await spawnWindhover(["run", "later", "test:ball", "--frames", "3"], inside);
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).number),
    [9, 10, 11],
  );
});

test("an element of the workspace that throws is reported with its line", async () => {
  const { code, stderr } = await spawnWindhover(["run", "numbers", "test:ball"], folder);
  assert.equal(code, 1);
  assert.match(stderr, /^windhover: number: no more\n +at Object\.process \(elements\/number\/number\.ts:13:38\)$/m);
});

test("check, explain and inspect know graphs and elements of the workspace", async () => {
  const [checked, explained, inspected] = await Promise.all([
    windhover(["check", "numbers", "wrong"], folder),
    windhover(["explain", "later"], inside),
    windhover(["inspect", "number"], inside),
  ]);
  assert.equal(checked.code, 2);
  assert.match(checked.stderr, /^graphs\/wrong\.yaml:4:13: .*"strat".*did you mean "start"\?/m);
  assert.match(explained.stdout, /number: number.*\n +start = 9/);
  assert.match(inspected.stdout, /^Test: number\.$/m);
});

test("models of the workspace are listed", async () => {
  const { stdout } = await windhover(["models", "list", "--json"], inside);
  const { card, fault } = JSON.parse(stdout).find(({ name }: { name: string }) => name === "yard");
  assert.deepEqual([card, fault], [join(folder, "models/yard.yaml"), undefined]);
});

test("an unknown graph is reported with those of the workspace", async () => {
  const { code, stderr } = await windhover(["run", "nubmers", "test:ball"], folder);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /there is no graph "nubmers"; the graphs are .*\bdetect, .*\blater, .*\bnumbers\b.*did you mean "numbers"/,
  );
});

test("a folder that does not exist is reported with its place in windhover.yaml", async () => {
  const other = makeFolder();
  writeFileSync(join(other, "windhover.yaml"), "elements:\n  folders: [elemnts]\n");
  const { code, stderr } = await windhover(["inspect", "print"], other);
  assert.equal(code, 1);
  assert.match(stderr, /windhover\.yaml:2:12: elements\.folders has ".*\/elemnts"; expected an existing folder/);
});

test("an element with the name of another one is left out, with the position of its name", async () => {
  const taken = makeFolder();
  writeFiles(taken, {
    "windhover.yaml": "graphs: { folders: [graphs] }\nelements: { folders: [elements] }\n",
    "elements/identity/identity.ts": elementText("identity"),
    "elements/track/track.ts": elementText("track"),
    "graphs/passing.yaml": "graph: passing\nchains: { main: [source, decode, { identity: { sync: false } }, print] }\n",
  });
  const { code, lines, stderr } = await windhover(["run", "passing", "test:ball", "--frames", "2"], taken);
  assert.deepEqual([code, lines.length], [0, 2], stderr);
  assert.match(
    stderr,
    /^elements\/identity\/identity\.ts:5:9: the name "identity" is taken by an element of GStreamer; expected another name; the element "identity" is left out$/m,
  );
  assert.match(
    stderr,
    /^elements\/track\/track\.ts:5:9: the name "track" is taken by Windhover's own elements\/track/m,
  );
});
