import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type LogEntry, receiveLog, setLogLevels } from "./gstreamer.ts";
import { build, gate, NO_HANG, pictures, play } from "./pipeline.fixture.ts";

afterEach(() => {
  receiveLog(null);
  setLogLevels("0");
});

test("messages have level, category, text and source element", NO_HANG, async () => {
  const entries: LogEntry[] = [];
  receiveLog((entry) => void entries.push(entry));
  setLogLevels("*:0,queue_dataflow:5");
  await play({ ...pictures(3), spy: ["queue"], out: ["fakesink"] });
  assert.ok(entries.length > 0);
  for (const { level, category, source, message, lost } of entries)
    assert.deepEqual([level, category, source, lost, message.length > 0], ["debug", "queue_dataflow", "spy", 0, true]);
});

test("levels are distinguished and filter messages", NO_HANG, async () => {
  const levels = async (threshold: string) => {
    const seen = new Set<string>();
    receiveLog(({ level }) => void seen.add(level));
    setLogLevels(threshold);
    const pipeline = await build({ file: ["filesrc", { location: "/nowhere" }], out: ["fakesink"] });
    await pipeline.setState("PLAYING").catch(() => {});
    await pipeline.close();
    return seen;
  };
  assert.deepEqual(await levels("1"), new Set());
  const two = await levels("2");
  assert.ok(two.has("warn") && !two.has("info"), [...two].join());
  const six = await levels("6");
  for (const level of ["warn", "info", "debug", "trace"]) assert.ok(six.has(level), `${level} of ${[...six]}`);
});

test("a removed receiver gets no more messages, the newest one gets all", NO_HANG, async () => {
  let first = 0;
  let second = 0;
  setLogLevels("2");
  receiveLog(() => {
    first += 1;
  });
  receiveLog(() => {
    second += 1;
  });
  const pipeline = await build({ file: ["filesrc", { location: "/nowhere" }], out: ["fakesink"] });
  await pipeline.setState("PLAYING").catch(() => {});
  assert.equal(first, 0);
  assert.ok(second > 0);
  await pipeline.close();
});

test("a flood of messages is bounded, and lost ones are counted", NO_HANG, async () => {
  let kept = 0;
  const firstLoss = gate<number>();
  setLogLevels("*:0,queue_dataflow:6");
  const pipeline = await build({ ...pictures(-1), spy: ["queue"], out: ["fakesink"] });
  pipeline.meter("spy", "spy", "spy");
  receiveLog(({ lost }) => {
    kept += 1;
    if (lost > 0) firstLoss.open(lost);
    // Blocks the event loop while thousands of messages arrive.
    if (kept === 1) while ((pipeline.meters(["spy"]).spy?.out ?? 0) < 2000);
  });
  await pipeline.setState("PLAYING", 0);
  assert.ok((await firstLoss.opened) > 1000);
  await pipeline.close();
});

test("receives messages of GLib", NO_HANG, async () => {
  const complaint = gate<LogEntry>();
  receiveLog((entry) => {
    if (entry.category === "glib") complaint.open(entry);
  });
  const pipeline = await build({ ...pictures(-1), out: ["filesink", { location: "/dev/null" }] });
  await pipeline.setState("PLAYING");
  await pipeline.set("out", { location: "/dev/zero" });
  const { level, message } = await complaint.opened;
  await pipeline.close();
  assert.equal(level, "warn");
  assert.match(message, /Changing the `location' property on filesink when a file is open is not supported/);
});
