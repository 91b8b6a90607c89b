import assert from "node:assert/strict";
import { after, test } from "node:test";
import { LiveStreams } from "../media/live-streams.ts";
import { Metrics } from "../metrics/metrics.ts";
import { countProcesses } from "../processes/view.ts";
import { makeConfig, makeUser, openApp } from "./app.fixture.ts";
import { operationsEndpoints } from "./operations.ts";

const operator = { ...makeUser("operator"), isOperator: true };
/** A customer's own: a master key, as the operator's is. */
const customer = makeUser("customer");

async function open(settings: Readonly<Record<string, string>>) {
  const needs = {
    metrics: new Metrics(),
    components: async () => ({ database: "ok" }),
    readDelivery: async () => [],
    processNumbers: () => countProcesses([{ state: "running" as const, reconnecting: true }]),
    mediaNumbers: () => ({ ...new LiveStreams().numbers, restarts: 3 }),
  };
  const app = await openApp(operationsEndpoints({ ...needs, config: makeConfig(settings) }), {
    settings,
    authenticate: async (key) => (key === "operator" ? operator : customer),
  });
  after(() => app.close(0));
  return app;
}

test("the numbers of all users are for who runs the service, not for any master key", async () => {
  const app = await open({});
  const read = await app.call("/metrics", { headers: { api_key: "operator" } });
  assert.equal(read.status, 200);
  const text = await read.text();
  assert.match(text, /^windhover_component_up\{component="database"\} 1$/m);
  assert.match(text, /^windhover_processes\{state="running"\} 1$/m);
  assert.match(text, /^windhover_media_hub_restarts_total 3$/m);
  assert.equal((await app.call("/metrics?api_key=operator", { method: "HEAD" })).status, 200);
  const bearer = { authorization: "Bearer operator" };
  assert.equal((await app.call("/metrics", { method: "HEAD", headers: bearer })).status, 200, "as Prometheus asks");
  const refused = await app.call("/metrics", { headers: { api_key: "customer" } });
  assert.equal(refused.status, 403);
  assert.equal(((await refused.json()) as { code: string }).code, "operator_key_needed");
});

test("they are for anybody where the configuration says so", async () => {
  const app = await open({ HTTP_METRICS_OPEN: "true" });
  const read = await app.call("/metrics");
  assert.equal(read.status, 200);
  await read.text();
});
