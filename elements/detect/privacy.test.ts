import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { childCommand } from "../../test/child.fixture.ts";

const INFERRING = childCommand(new URL("exit.child.ts", import.meta.url));

test("inference stores no machine identifier, which onnxruntime uses for its telemetry", async () => {
  const home = mkdtempSync(join(tmpdir(), "windhover-home-"));
  try {
    // Each of these would disable the telemetry of onnxruntime.
    const { ORT_DISABLE_TELEMETRY: _, CI: __, ...env } = process.env;
    const inferring = promisify(execFile)(process.execPath, INFERRING, {
      env: { ...env, HOME: home, XDG_CACHE_HOME: join(home, ".cache") },
      timeout: 60_000,
    });
    await assert.rejects(inferring, { code: 5 });
    const left = readdirSync(home, { recursive: true }).map(String);
    assert.deepEqual(
      left.filter((path) => /onnxruntime|deviceid/i.test(path)),
      [],
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
