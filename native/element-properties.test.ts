import assert from "node:assert/strict";
import test from "node:test";
import type { NativeProperty } from "./addon.ts";
import { build, counter, element, gate, NO_HANG, pictures, play, type Steps } from "./pipeline.fixture.ts";

const EVERY_KIND: readonly NativeProperty[] = [
  { name: "on", about: "A switch.", kind: "boolean", live: true, default: true },
  { name: "count", about: "A number of things.", kind: "integer", live: true, default: 3, minimum: 1, maximum: 9 },
  { name: "share", about: "A part of them.", kind: "number", live: true, default: 0.25, minimum: 0, maximum: 1 },
  { name: "label", about: "A text.", kind: "string", live: true, default: 'a "quoted"\ntext' },
  { name: "mode", about: "A choice.", kind: "enum", live: false, default: "slow", values: ["fast", "slow", "none"] },
  { name: "rules", about: "Anything.", kind: "json", live: true, default: '[{"at":1}]' },
  { name: "unset", about: "Nothing by default.", kind: "json", live: true },
];
const DEFAULTS = {
  on: true,
  count: 3,
  share: 0.25,
  label: 'a "quoted"\ntext',
  mode: "slow",
  rules: [{ at: 1 }],
};

interface Observed {
  readonly started: Record<string, unknown>[];
  readonly updates: Record<string, unknown>[];
}
function observed(seen: Observed, onUpdate: () => void = () => {}): string {
  return element(
    ({ properties }) => {
      seen.started.push(properties);
      return {
        process: () => {},
        update: (properties) => {
          seen.updates.push(properties);
          onUpdate();
        },
      };
    },
    { properties: EVERY_KIND },
  );
}
const endless = (it: string, properties: Record<string, string | number | boolean | null> = {}): Steps => ({
  ...pictures(-1),
  it: [it, properties],
  out: ["fakesink"],
});

test("a handler starts with the defaults, and without properties that have none", NO_HANG, async () => {
  const seen: Observed = { started: [], updates: [] };
  await play({ ...pictures(1), it: [observed(seen)], out: ["fakesink"] });
  assert.deepEqual(seen.started, [DEFAULTS]);
});

test("a handler starts with the values set when the pipeline is built", NO_HANG, async () => {
  const seen: Observed = { started: [], updates: [] };
  const given = { on: false, count: 9, share: 1, label: "", mode: "none", rules: "{}", unset: "[null,1.5e-7]" };
  await play({ ...pictures(1), it: [observed(seen), given], out: ["fakesink"] });
  assert.deepEqual(seen.started, [{ ...given, rules: {}, unset: [null, 1.5e-7] }]);
  assert.deepEqual(seen.updates, []);
});

test("null resets a property to its default", NO_HANG, async () => {
  const seen: Observed = { started: [], updates: [] };
  const arrived = gate();
  const pipeline = await build(endless(observed(seen, arrived.open), { count: 7, label: "x" }));
  await pipeline.setState("PLAYING");
  await pipeline.set("it", { count: null });
  await arrived.opened;
  await pipeline.close();
  assert.deepEqual(seen.updates, [{ ...DEFAULTS, count: 3, label: "x" }]);
});

test("properties set together arrive as one update", NO_HANG, async () => {
  const seen: Observed = { started: [], updates: [] };
  const updates = counter();
  const pipeline = await build(endless(observed(seen, () => updates.add())));
  await pipeline.setState("PLAYING");
  await pipeline.set("it", { on: false, count: 5, share: 0.5 });
  await updates.reached(1);
  await pipeline.set("it", { label: "last" });
  await updates.reached(2);
  await pipeline.close();
  assert.deepEqual(seen.updates, [
    { ...DEFAULTS, on: false, count: 5, share: 0.5 },
    { ...DEFAULTS, on: false, count: 5, share: 0.5, label: "last" },
  ]);
});

test("an update during create reaches the handler before the first frame", NO_HANG, async () => {
  const making = gate();
  const ready = gate();
  const calls: unknown[] = [];
  const framed = gate();
  const it = element(
    async ({ properties }) => {
      calls.push(properties.count);
      making.open();
      await ready.opened;
      return {
        process: () => {
          calls.push("frame");
          framed.open();
          return "drop";
        },
        update: ({ count }) => void calls.push(count),
      };
    },
    { properties: EVERY_KIND },
  );
  const pipeline = await build(endless(it));
  const playing = pipeline.setState("PLAYING");
  await making.opened;
  await pipeline.set("it", { count: 4 });
  await pipeline.set("it", { count: 8 });
  setImmediate(ready.open);
  await playing;
  await framed.opened;
  await pipeline.close();
  assert.deepEqual(calls.slice(0, 3), [3, 8, "frame"]);
});

test("a sink in READY receives updates", NO_HANG, async () => {
  const counts: unknown[] = [];
  const arrived = gate();
  const out = element(
    ({ properties }) => {
      counts.push(properties.count);
      return {
        process: () => {},
        update: ({ count }) => {
          counts.push(count);
          arrived.open();
        },
      };
    },
    { kind: "sink", properties: EVERY_KIND },
  );
  const pipeline = await build({ ...pictures(1), out: [out] });
  await pipeline.setState("READY");
  await pipeline.set("out", { count: 2 });
  await arrived.opened;
  await pipeline.close();
  assert.deepEqual(counts, [3, 2]);
});

test("an exception in update is a fault, and frames continue", NO_HANG, async () => {
  const faults: Error[] = [];
  const frames = counter();
  const it = element(
    () => ({
      process: () => frames.add(),
      update: async () => {
        throw new Error("not this one");
      },
    }),
    { properties: EVERY_KIND, faults },
  );
  const pipeline = await build(endless(it));
  await pipeline.setState("PLAYING");
  await pipeline.set("it", { count: 2 });
  await frames.reached(frames.count + 10);
  await pipeline.close();
  assert.deepEqual(
    faults.map(({ message }) => message),
    ["not this one"],
  );
});

for (const [behaviour, properties, message] of [
  ["a value out of range is rejected", { count: 10 }, /it property "count": 10 is out of range/],
  ["a value of the wrong type is rejected", { share: "much" }, /it property "share" takes a gdouble, not "much"/],
  ["an unknown enum value is rejected", { mode: "medium" }, /it property "mode" takes a .*, not "medium"/],
  ["an unknown property is rejected", { colour: 1 }, /it has no property "colour"/],
] as const)
  test(`${behaviour}, with its name and the expected type`, NO_HANG, async () => {
    const seen: Observed = { started: [], updates: [] };
    const pipeline = await build(endless(observed(seen)));
    await pipeline.setState("PLAYING");
    await assert.rejects(pipeline.set("it", properties), message);
    await pipeline.close();
    assert.deepEqual(seen.updates, []);
  });

test("rejects properties of an unknown node", NO_HANG, async () => {
  const pipeline = await build(endless("identity"));
  await assert.rejects(pipeline.set("missing", { sync: true }), /no node "missing" in the running pipeline/);
  await assert.rejects(pipeline.get("missing", "sync"), /no node "missing"/);
  await pipeline.close();
});

test("sets properties of native elements and reads them back as GStreamer serialises them", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(1), it: ["identity"], queue: ["queue"], out: ["fakesink"] });
  await pipeline.set("queue", { "max-size-buffers": 7, leaky: "downstream" });
  assert.equal(await pipeline.get("queue", "max-size-buffers"), "7");
  assert.equal(await pipeline.get("queue", "leaky"), "downstream");
  await pipeline.set("queue", { leaky: null });
  assert.equal(await pipeline.get("queue", "leaky"), "no");
  for (const value of [-1, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY])
    await assert.rejects(
      pipeline.set("queue", { "max-size-buffers": value }),
      /"max-size-buffers": .* is out of range/,
    );
  for (const value of [1.5, "many", "-1x", true])
    await assert.rejects(pipeline.set("queue", { "max-size-buffers": value }), /"max-size-buffers" takes a guint, not/);
  assert.equal(await pipeline.get("queue", "max-size-buffers"), "7");
  await assert.rejects(pipeline.get("queue", "colour"), /queue has no readable property "colour"/);
  await pipeline.close();
});
