import assert from "node:assert/strict";
import { test } from "node:test";
import { windhover } from "./windhover.fixture.ts";

for (const [args, says] of [
  [["test:bal"], /^windhover: SOURCE test:bal: there is no test pattern "bal".*did you mean "ball"\?\n$/],
  [["http://x/y"], /^windhover: SOURCE "http:\/\/x\/y" is not a source/],
  [["test:ball", "waiting=abc"], /^windhover: waiting=abc: .*; expected a whole number from 1 to 100\n$/],
  [["test:ball", "watiing=3"], /^windhover: watiing=3: .*no parameter "watiing".*did you mean "waiting"\?\n$/],
] as const)
  test(`${args.join(" ")} is refused by its own name, not by a place in the graph`, async () => {
    const { code, stderr } = await windhover(["run", "demo", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, says);
  });
