import assert from "node:assert/strict";
import { test } from "node:test";
import { readGraphWords, readSlotWords } from "./compile-graph.ts";
import { windhover } from "./windhover.fixture.ts";

test("takes the word that is not an assignment as the source, in any position", () => {
  assert.deepEqual(readGraphWords(["g", "path=a=b.mp4", "rtsp://u:p@h/x?a=1", "n=2"]), {
    graph: "g",
    source: "rtsp://u:p@h/x?a=1",
    params: { path: "a=b.mp4", n: "2" },
  });
  assert.equal(readGraphWords(["g", "test:ball?width=64"]).source, "test:ball?width=64");
  assert.equal(readGraphWords(["g", "./a=b.mp4"]).source, "./a=b.mp4");
  assert.equal(readGraphWords(["g"]).source, null);
});

test("rejects two sources and a parameter given twice", () => {
  assert.throws(() => readGraphWords(["g", "a.mp4", "b.mp4"]), /unexpected argument "b.mp4"/);
  assert.throws(() => readGraphWords(["g", "a=1", "a=2"]), /a is given twice/);
  assert.throws(() => readGraphWords([]), /missing: the GRAPH/);
});

test("accepts colons and commas in the value of a slot parameter", () => {
  assert.deepEqual(readSlotWords("s:path=a,b:c.jpg,seconds=2"), {
    slot: "s",
    params: { path: "a,b:c.jpg", seconds: "2" },
  });
  assert.deepEqual(readSlotWords("s"), { slot: "s", params: {} });
  assert.throws(() => readSlotWords(":a=1"), /expected SLOT/);
  assert.throws(() => readSlotWords("s:path"), /"path" is not a parameter/);
});

for (const [args, says] of [
  [["test:bal"], /^windhover: SOURCE test:bal: there is no test pattern "bal".*did you mean "ball"\?\n$/],
  [["http://x/y"], /^windhover: SOURCE "http:\/\/x\/y" is not a source/],
  [["test:ball", "waiting=abc"], /^windhover: waiting=abc: .*; expected a whole number from 1 to 100\n$/],
  [["test:ball", "watiing=3"], /^windhover: watiing=3: .*no parameter "watiing".*did you mean "waiting"\?\n$/],
] as const)
  test(`${args.join(" ")} is reported by its own name, not by a place in the graph`, async () => {
    const { code, stderr } = await windhover(["run", "demo", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, says);
  });
