import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputState } from "../outputs/describe-output.ts";
import { explainOutputs } from "./view.ts";

const state = (status: OutputState["status"], detail: string | null = null): OutputState => ({
  ...{ outputUuid: "a", type: "rtsp", status, detail, framesSent: 5, framesDropped: 1 },
});
const OUTPUTS = [state("live"), state("retrying", "the server closed the connection"), state("failed", "not there")];

test("shows outputs of a running process unchanged", () => {
  assert.deepEqual(explainOutputs(OUTPUTS, "running", false), OUTPUTS);
});

test("explains outputs of a process that is paused or waits for its source, except failed ones", () => {
  for (const [processState, reconnecting, why] of [
    ["paused", false, "the process is paused"],
    ["running", true, "the process waits for its source"],
  ] as const)
    assert.deepEqual(explainOutputs(OUTPUTS, processState, reconnecting), [
      ...[state("live", why), state("starting", why), OUTPUTS[2]],
    ]);
});
