import assert from "node:assert/strict";
import { test } from "node:test";
import { readGraphWords, readSlotWords } from "./compile-graph.ts";
import { windhover } from "./windhover.fixture.ts";

test("the source is the word that is no assignment, wherever it stands", () => {
  assert.deepEqual(readGraphWords(["g", "path=a=b.mp4", "rtsp://u:p@h/x?a=1", "n=2"]), {
    graph: "g",
    source: "rtsp://u:p@h/x?a=1",
    params: { path: "a=b.mp4", n: "2" },
  });
  assert.equal(readGraphWords(["g", "test:ball?width=64"]).source, "test:ball?width=64");
  assert.equal(readGraphWords(["g", "./a=b.mp4"]).source, "./a=b.mp4");
  assert.equal(readGraphWords(["g"]).source, null);
});

test("two sources and a parameter given twice are refused", () => {
  assert.throws(() => readGraphWords(["g", "a.mp4", "b.mp4"]), /"b.mp4" is too much/);
  assert.throws(() => readGraphWords(["g", "a=1", "a=2"]), /a is given twice/);
  assert.throws(() => readGraphWords([]), /missing: the GRAPH/);
});

test("a value of a slot may hold colons and commas", () => {
  assert.deepEqual(readSlotWords("s:path=a,b:c.jpg,seconds=2"), {
    slot: "s",
    params: { path: "a,b:c.jpg", seconds: "2" },
  });
  assert.deepEqual(readSlotWords("s"), { slot: "s", params: {} });
  assert.throws(() => readSlotWords(":a=1"), /expected SLOT/);
  assert.throws(() => readSlotWords("s:path"), /"path" is no parameter/);
});

for (const [args, says] of [
  [["test:bal"], /^windhover: SOURCE test:bal: there is no test pattern "bal".*did you mean "ball"\?\n$/],
  [["http://x/y"], /^windhover: SOURCE "http:\/\/x\/y" is no source/],
  [["test:ball", "waiting=abc"], /^windhover: waiting=abc: .*; expected a whole number from 1 to 100\n$/],
  [["test:ball", "watiing=3"], /^windhover: watiing=3: .*no parameter "watiing".*did you mean "waiting"\?\n$/],
] as const)
  test(`${args.join(" ")} is refused by its own name, not by a place in the graph`, async () => {
    const { code, stderr } = await windhover(["run", "demo", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, says);
  });
