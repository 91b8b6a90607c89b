import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { checkHealth } from "./health.ts";

const config = { data_dir: tmpdir(), disk: { reserve_bytes: 0 } };

test("a part is ok, or says why not; one that cannot be checked hides no other", async () => {
  const components = await checkHealth({
    config,
    checks: {
      database: async () => "it does not answer",
      runners: () => null,
      hub: () => Promise.reject(new Error("secret")),
    },
  });
  assert.deepEqual(components, {
    database: "it does not answer",
    runners: "ok",
    hub: "it could not be checked",
    disk: "ok",
  });
});

test("a disk with less than the reserve is not ok", async () => {
  const full = { ...config, disk: { reserve_bytes: Number.MAX_SAFE_INTEGER } };
  assert.match((await checkHealth({ config: full, checks: {} })).disk ?? "", /MiB are free/);
});
