import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { childCommand } from "../../test/child.fixture.ts";

const LOOKING = childCommand(new URL("exit.child.ts", import.meta.url));

test("looking leaves no identifier of the machine behind, which onnxruntime keeps to report its use", async () => {
  const home = mkdtempSync(join(tmpdir(), "windhover-home-"));
  try {
    // These keep onnxruntime quiet by themselves.
    const { ORT_DISABLE_TELEMETRY: _, CI: __, ...env } = process.env;
    const looking = promisify(execFile)(process.execPath, LOOKING, {
      env: { ...env, HOME: home, XDG_CACHE_HOME: join(home, ".cache") },
      timeout: 60_000,
    });
    await assert.rejects(looking, { code: 5 });
    const left = readdirSync(home, { recursive: true }).map(String);
    assert.deepEqual(
      left.filter((path) => /onnxruntime|deviceid/i.test(path)),
      [],
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
