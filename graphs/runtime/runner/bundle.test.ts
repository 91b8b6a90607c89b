import assert from "node:assert/strict";
import { utimesSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildBundle } from "../../../setup/bundle.mjs";
import { findBundle } from "../../../setup/find-bundle.mjs";
import { ForkedRunner } from "./runner.fixture.ts";

const SOURCE = fileURLToPath(new URL("latency.ts", new URL("../", import.meta.url)));

test("a runner is the same bundled and read from its sources, and a source that is newer than the bundle counts", async () => {
  if (findBundle("runner") === null) await buildBundle();
  const bundle = findBundle("runner");
  assert.ok(bundle);
  const told = async (): Promise<string> => {
    const runner = new ForkedRunner();
    await runner.start({ sourceUri: "test:ball?width=64&height=48&frames=5", epochMs: 0 });
    await runner.exited;
    assert.equal(runner.states.at(-1), "finished");
    return JSON.stringify(runner.messages);
  };
  const bundled = await told();
  utimesSync(SOURCE, new Date(), new Date());
  assert.equal(findBundle("runner"), null);
  assert.equal(await told(), bundled);
  await buildBundle();
  assert.ok(findBundle("runner"));
});
