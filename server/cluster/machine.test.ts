import assert from "node:assert/strict";
import { isIPv4 } from "node:net";
import { test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import { LoadMeter, reachableHost, readCapacity, readLabels } from "./machine.ts";

test("an address that others cannot use is replaced by one of this machine", () => {
  for (const host of ["0.0.0.0", "::", "[::]"]) {
    const found = reachableHost(host);
    assert.ok(isIPv4(found) && found !== "0.0.0.0", `${host}: ${found}`);
  }
  assert.deepEqual(["10.0.0.7", "node-1.example", "fd00::7", "[fd00::7]"].map(reachableHost), [
    ...["10.0.0.7", "node-1.example", "[fd00::7]", "[fd00::7]"],
  ]);
});

test("reads labels, and rejects what is none", () => {
  assert.deepEqual(readLabels(["site=north", "gpu=", "rack.row=a=b"]), { site: "north", gpu: "", "rack.row": "a=b" });
  for (const text of ["", "north", "=north", "a b=c", `${"x".repeat(65)}=1`, `a=${"x".repeat(129)}`])
    assert.throws(() => readLabels([text]), /is not a label; expected name=value/, text);
});

test("a capacity of 0 is not limited", () => {
  const { cluster } = makeConfig();
  assert.deepEqual(readCapacity(cluster), { labels: {}, cores: null, memoryBytes: null, maxProcesses: null });
  const limited = { ...cluster, labels: ["site=north"], cores: 3.5, memory_bytes: 2 ** 30, processes: 4 };
  assert.deepEqual(readCapacity(limited), {
    ...{ labels: { site: "north" }, cores: 3.5, memoryBytes: 2 ** 30, maxProcesses: 4 },
  });
});

test("measures what is in use since the last reading", async () => {
  const meter = new LoadMeter();
  const untilMs = performance.now() + 300;
  while (performance.now() < untilMs);
  const { cores, memoryBytes } = await meter.read();
  assert.ok(cores > 0, `${cores} cores`);
  assert.ok(memoryBytes > 10_000_000, `${memoryBytes} bytes`);
});
