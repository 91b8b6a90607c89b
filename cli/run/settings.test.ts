import assert from "node:assert/strict";
import { test } from "node:test";
import { Given, UsageFault } from "../command.ts";
import { readSettings, readSnapshot } from "./settings.ts";

for (const [time, atNs] of [
  ["12.5s", 12_500_000_000n],
  ["12.5", 12_500_000_000n],
  ["800ms", 800_000_000n],
  ["1:02.5", 62_500_000_000n],
  ["0s", 0n],
] as const) {
  test(`a snapshot at ${time}`, () =>
    assert.deepEqual(readSnapshot(`decode@${time}=a=b.png`), {
      node: "decode",
      atNs,
      file: "a=b.png",
      type: "image/png",
    }));
}

for (const text of ["decode", "decode@1s", "@1s=a.png", "decode@soon=a.png", "decode@-1s=a.png", "decode@1s=a.gif"]) {
  test(`rejects the snapshot "${text}"`, () => assert.throws(() => readSnapshot(text), UsageFault));
}

for (const levels of ["3", "*:2", "rtspsrc:5,*:2", "GST_CAPS:debug"]) {
  test(`--log ${levels} is taken`, () => assert.equal(readSettings(new Given([], { log: levels })).log, levels));
}
for (const levels of ["loud", "rtspsrc:", "3,", "a b:3"]) {
  test(`rejects --log "${levels}"`, () =>
    assert.throws(() => readSettings(new Given([], { log: levels })), /expected a level/));
}
