import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ForkedRunner } from "./runner.fixture.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The sources elsewhere, and what was built of them but for the bundle: others run from ours meanwhile. */
function copySources(): string {
  const copy = mkdtempSync(join(tmpdir(), "windhover-bundle-"));
  const isSource = (name: string) => !["node_modules", "build"].includes(name) && !name.startsWith(".");
  for (const name of readdirSync(ROOT).filter(isSource))
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  mkdirSync(join(copy, "build"));
  for (const name of readdirSync(join(ROOT, "build")).filter((name) => !name.startsWith("bundle")))
    symlinkSync(join(ROOT, "build", name), join(copy, "build", name));
  return copy;
}

test("a runner behaves the same bundled and from sources, and sources newer than the bundle win", async () => {
  const copy = copySources();
  after(() => rmSync(copy, { recursive: true, force: true }));
  const load = (name: string) => import(pathToFileURL(join(copy, "setup", name)).href);
  const { buildBundle } = (await load("bundle.mjs")) as typeof import("../../../setup/bundle.mjs");
  const { findBundle } = (await load("find-bundle.mjs")) as typeof import("../../../setup/find-bundle.mjs");
  const firstMessages = async (): Promise<string> => {
    const runner = new ForkedRunner(join(copy, "graphs/runtime/runner/runner.mjs"));
    await runner.start({ sourceUri: "test:ball?width=64&height=48&frames=5", epochMs: 0 });
    await runner.exited;
    assert.equal(runner.states.at(-1), "finished");
    return JSON.stringify(runner.messages);
  };
  assert.equal(findBundle("runner"), null);
  await buildBundle();
  assert.ok(findBundle("runner"));
  const bundled = await firstMessages();
  utimesSync(join(copy, "graphs/runtime/limits.ts"), new Date(), new Date());
  assert.equal(findBundle("runner"), null);
  assert.equal(await firstMessages(), bundled);
  await buildBundle();
  assert.ok(findBundle("runner"));
});
