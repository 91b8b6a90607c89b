import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countNodes } from "../cluster/numbers.ts";
import { LiveStreams } from "../media/live-streams.ts";
import { Metrics } from "../metrics/metrics.ts";
import { countProcesses } from "../processes/view.ts";
import { makeConfig, makeUser, openApp } from "./app.fixture.ts";
import { demoEndpoints, metricsEndpoints } from "./operations.ts";

const operator = { ...makeUser("operator"), isOperator: true };
/** A master key of a customer. */
const customer = makeUser("customer");

async function open(settings: Readonly<Record<string, string>>) {
  const deps = {
    metrics: new Metrics(),
    components: async () => ({ database: "ok" }),
    delivery: { read: async () => [] },
    processes: { numbers: countProcesses([{ state: "running" as const, reconnecting: true }]) },
    media: { numbers: { ...new LiveStreams().numbers, restarts: 3 }, streamNumbers: [] },
    alerts: { numbers: { written: 0, lost: 0, waiting: 0 } },
    detections: { numbers: { written: 7, lost: 0, bytes: 100 } },
    nodes: async () => countNodes([], "", 2),
  };
  const app = await openApp(metricsEndpoints({ ...deps, config: makeConfig(settings) }), {
    settings,
    authenticate: async (key) => (key === "operator" ? operator : customer),
  });
  after(() => app.close(0));
  return app;
}

test("metrics require an operator key, not just a master key", async () => {
  const app = await open({});
  const read = await app.call("/metrics", { headers: { api_key: "operator" } });
  assert.equal(read.status, 200);
  const text = await read.text();
  assert.match(text, /^windhover_component_up\{component="database"\} 1$/m);
  assert.match(text, /^windhover_processes\{state="running"\} 1$/m);
  assert.match(text, /^windhover_media_hub_restarts_total 3$/m);
  assert.match(text, /^windhover_processes_waiting 2$/m);
  assert.match(text, /^windhover_detections_written_total 7$/m);
  assert.equal((await app.call("/metrics?api_key=operator", { method: "HEAD" })).status, 200);
  const bearer = { authorization: "Bearer operator" };
  assert.equal((await app.call("/metrics", { method: "HEAD", headers: bearer })).status, 200, "as Prometheus sends it");
  const rejected = await app.call("/metrics", { headers: { api_key: "customer" } });
  assert.equal(rejected.status, 403);
  assert.equal(((await rejected.json()) as { code: string }).code, "operator_key_needed");
});

test("metrics are public if `http.metrics_open` is set", async () => {
  const app = await open({ HTTP_METRICS_OPEN: "true" });
  const read = await app.call("/metrics");
  assert.equal(read.status, 200);
  await read.text();
});

test("the demo requires an operator key, not just a master key", async () => {
  const never = async () => assert.fail("called without permission");
  const app = await openApp(demoEndpoints({ start: never, stop: never, describe: never }), {
    authenticate: async () => customer,
  });
  after(() => app.close(0));
  for (const method of ["GET", "POST", "DELETE"]) {
    const rejected = await app.call("/demo", { method, headers: { api_key: "customer" } });
    assert.equal(rejected.status, 403, method);
    assert.equal(((await rejected.json()) as { code: string }).code, "operator_key_needed");
  }
});
