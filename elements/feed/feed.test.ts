import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { compiledLaunch, start } from "../../test/graph.fixture.ts";

const LINE = 'source uri="test:ball?width=64&height=48&frames=10" ! decode ! jpegenc ! feed';

test("shows every frame as a JPEG with its time, and a viewer that drops it delays nothing", async () => {
  const shown: { readonly captureNs: bigint; readonly bytes: Uint8Array }[] = [];
  const graph = await start(compiledLaunch(LINE), [], {
    show(node, captureNs, bytes) {
      assert.equal(node, "feed");
      shown.push({ captureNs, bytes });
      return shown.length % 2 === 0;
    },
  });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.deepEqual(
    shown.map(({ captureNs }) => captureNs),
    Array.from({ length: 10 }, (_, index) => BigInt(index) * 40_000_000n),
  );
  for (const { bytes } of shown)
    assert.deepEqual([...bytes.subarray(0, 2), ...bytes.subarray(-2)], [0xff, 0xd8, 0xff, 0xd9]);
});

test("warns where there can be no viewers, and the graph runs", async () => {
  const events: GraphEvent[] = [];
  const graph = await start(compiledLaunch(LINE), [], { onEvent: (event) => void events.push(event) });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.ok(events.some((event) => event.type === "log" && event.level === "warn" && /viewers/.test(event.message)));
});
