import assert from "node:assert/strict";
import { test } from "node:test";
import { loadRegistry } from "../../graphs/runtime/registry.ts";
import { readRegistry } from "./read-registry.ts";

test("the registry as data is the registry as GStreamer has it", async () => {
  const read = await readRegistry();
  const loaded = loadRegistry();
  assert.deepEqual(
    read.list().map(({ name }) => name),
    loaded.list().map(({ name }) => name),
  );
  for (const name of ["queue", "x264enc", "videotestsrc", "no-such-element"])
    assert.deepEqual(read.get(name), JSON.parse(JSON.stringify(loaded.get(name) ?? null)) ?? undefined, name);
});
