import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { childCommand } from "../test/child.fixture.ts";
import { withFolder } from "./film.fixture.ts";

const LIMIT = { timeout: 120_000 };
const CHILD = childCommand(new URL("leaks.child.ts", import.meta.url));

/** The objects that GStreamer's leaks tracer reports. */
async function alive(...args: string[]): Promise<string[]> {
  return withFolder(async (folder) => {
    const log = join(folder, "leaks.log");
    const env = { ...process.env, GST_TRACERS: "leaks", GST_DEBUG: "GST_TRACER:7", GST_DEBUG_FILE: log };
    const { stdout } = await promisify(execFile)(process.execPath, [...CHILD, ...args], { env });
    assert.match(stdout, /everything once/);
    return [...(await readFile(log, "utf8")).matchAll(/object-alive, type-name=\(string\)(\w+)/g)].map(
      ([, type]) => type ?? "",
    );
  });
}

test("leaks no GStreamer object after using every feature once", LIMIT, async () => {
  assert.deepEqual(await alive(), []);
});

test("reports an object that is leaked", LIMIT, async () => {
  const left = await alive("and forget one");
  assert.ok(left.includes("GstPipeline") && left.includes("GstVideoTestSrc"), String(left));
});
