import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Value } from "typebox/value";
import { RUNNER_PROTOCOL, RunnerMessage } from "../../../schemas/runner.ts";
import { Watch } from "../../../test/watch.fixture.ts";

test("the runner of the benchmark speaks the protocol of real ones", async (t) => {
  const child = fork(fileURLToPath(new URL("runner.mjs", import.meta.url)), { execArgv: [], serialization: "json" });
  t.after(() => child.kill("SIGKILL"));
  const [hello] = (await once(child, "message")) as [{ type: string; protocol: number }];
  assert.deepEqual([hello.type, hello.protocol], ["hello", RUNNER_PROTOCOL]);
  const watch = new Watch();
  const messages: { readonly type: string }[] = [];
  child.on("message", (message: { readonly type: string }) => {
    messages.push(message);
    watch.check();
  });
  child.send({ type: "start", id: 1, job: { uuid: "one", firstTrackId: 1, positionNs: "0" } });
  await watch.until("it reports its progress", () => messages.some(({ type }) => type === "progress"));
  for (const message of messages.filter(({ type }) => type !== "reply"))
    assert.ok(Value.Check(RunnerMessage, message), JSON.stringify(message));
});
