import assert from "node:assert/strict";
import { test } from "node:test";
import { explainHalt } from "./halt.ts";
import type { OutputState } from "./process-outputs.ts";

const state = (status: OutputState["status"], detail: string | null = null): OutputState => ({
  ...{ outputUuid: "a", type: "rtsp", status, detail, framesSent: 5, framesDropped: 1 },
});
const OUTPUTS = [state("live"), state("retrying", "the server closed the connection"), state("failed", "not there")];

test("outputs of a process that runs are shown as they are", () => {
  assert.deepEqual(explainHalt(OUTPUTS, { state: "running", reconnecting: false }), OUTPUTS);
});

test("outputs of a process that is paused or waits for its source say so, but for those that have failed", () => {
  for (const [standpoint, why] of [
    [{ state: "paused", reconnecting: false }, "the process is paused"],
    [{ state: "running", reconnecting: true }, "the process waits for its source"],
  ] as const)
    assert.deepEqual(explainHalt(OUTPUTS, standpoint), [state("live", why), state("starting", why), OUTPUTS[2]]);
});
