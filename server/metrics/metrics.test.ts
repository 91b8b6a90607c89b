import assert from "node:assert/strict";
import { test } from "node:test";
import { countProcesses } from "../processes/view.ts";
import { Metrics, type ProcessStats } from "./metrics.ts";

const STATS: ProcessStats = {
  fps_in: 25,
  fps_processed: 12.5,
  fps_out: 25,
  frames_dropped: 3,
  latency_ms: { p50: 120, p95: 180 },
  inference_ms: 40,
  rss_bytes: 200_000_000,
  loop_delay_ms: 2,
  restarts: 1,
  frames_lost: 0,
};

test("exposes metrics of a process while it is running", async () => {
  const metrics = new Metrics();
  metrics.observeProcess("one", STATS);
  const link = { round_trip_ms: 12, packets_received: 400, packets_lost: 3, latency_ms: 200 };
  metrics.observeProcess("two", { ...STATS, fps_in: 30, link });
  const running = await metrics.print();
  assert.match(running, /^windhover_process_fps_in\{process="one"\} 25$/m);
  assert.match(running, /^windhover_process_latency_p95_seconds\{process="one"\} 0\.18$/m);
  assert.match(running, /^windhover_process_runner_rss_bytes\{process="one"\} 200000000$/m);
  assert.match(running, /^windhover_process_link_round_trip_seconds\{process="two"\} 0\.012$/m);
  assert.match(running, /^windhover_process_link_packets_lost_total\{process="two"\} 3$/m);
  assert.doesNotMatch(running, /link_\w+\{process="one"\}/, "of another protocol");
  metrics.forgetProcess("one");
  const ended = await metrics.print();
  assert.doesNotMatch(ended, /process="one"/);
  assert.match(ended, /^windhover_process_fps_in\{process="two"\} 30$/m);
});

test("exposes metrics of telemetry, with an age after the first message", async () => {
  const metrics = new Metrics();
  metrics.observeTelemetry("one", { received: 0, refused: 0, thinned: 0, ageMs: null });
  assert.doesNotMatch(await metrics.print(), /telemetry_age_seconds\{/);
  metrics.observeTelemetry("one", { received: 7, refused: 2, thinned: 1, ageMs: 1500 });
  const text = await metrics.print();
  for (const line of ["messages_received_total", "messages_refused_total", "messages_thinned_total", "age_seconds"].map(
    (name, at) => `windhover_telemetry_${name}{process="one"} ${[7, 2, 1, 1.5][at]}`,
  ))
    assert.ok(text.includes(line), line);
  metrics.forgetProcess("one");
  assert.doesNotMatch(await metrics.print(), /process="one"/);
});

test("counts requests by the pattern of their route", async () => {
  const metrics = new Metrics();
  metrics.observeRequest({ method: "GET", route: "/process/{process_uuid}", status: 200, seconds: 0.02 });
  for (let i = 0; i < 50; i++) metrics.observeRequest({ method: `M${i}`, route: null, status: 404, seconds: 0.001 });
  const text = await metrics.print();
  const labels = 'method="GET",route="/process/{process_uuid}",status="200"';
  assert.ok(text.includes(`windhover_http_request_seconds_count{${labels}} 1`));
  assert.equal(text.match(/^windhover_http_request_seconds_count/gm)?.length, 2);
});

test("reports an unhealthy component as down until it recovers", async () => {
  const metrics = new Metrics();
  metrics.observeComponents({ database: "does not answer", disk: "ok" });
  assert.match(await metrics.print(), /^windhover_component_up\{component="database"\} 0$/m);
  metrics.observeComponents({ database: "ok", disk: "ok" });
  const text = await metrics.print();
  assert.match(text, /^windhover_component_up\{component="database"\} 1$/m);
  assert.match(text, /^windhover_component_failures_total\{component="database"\} 1$/m);
});

test("counts deliveries by kind, and omits unknown values", async () => {
  const metrics = new Metrics();
  const counts = { attempts: 9, failures: 2, delivered: 7, dropped: 1 };
  metrics.observeDelivery([
    { ...counts, kind: "mqtt", waiting: 12, destinations: 3, failing: 1 },
    { ...counts, kind: "webhook", waiting: null, destinations: null, failing: null },
  ]);
  const text = await metrics.print();
  assert.match(text, /^windhover_delivery_waiting\{kind="mqtt"\} 12$/m);
  assert.match(text, /^windhover_delivery_dropped_total\{kind="webhook"\} 1$/m);
  assert.doesNotMatch(text, /^windhover_delivery_waiting\{kind="webhook"\}/m);
});

test("counts processes by state, and by how they ended", async () => {
  const metrics = new Metrics();
  const running = { state: "running" as const, reconnecting: false };
  const gone = { state: "failed" as const, reconnecting: false };
  metrics.observeProcesses(countProcesses([running, { ...running, reconnecting: true }, gone]));
  metrics.countEnd("failed");
  const text = await metrics.print();
  for (const line of ['{state="running"} 2', '{state="paused"} 0', "_reconnecting 1", '_ended_total{state="failed"} 1'])
    assert.ok(text.includes(`windhover_processes${line}\n`), line);
  assert.ok(text.includes('windhover_processes_ended_total{state="finished"} 0'), "present before the first one");
  assert.ok(!text.includes('windhover_processes{state="failed"}'));
});

test("exposes this node, the states of all nodes and processes without room, unless the database is unavailable", async () => {
  const metrics = new Metrics();
  const states = { live: 2, draining: 1, lost: 0 };
  metrics.observeNodes({ waiting: 3, states, processes: 4, reservedCores: 2.5, capacityCores: 6 });
  const text = await metrics.print();
  for (const line of [
    ...["processes_waiting 3", "node_processes 4", "node_reserved_cores 2.5", "node_capacity_cores 6"],
    ...['nodes{state="live"} 2', 'nodes{state="draining"} 1', 'nodes{state="lost"} 0'],
  ])
    assert.ok(text.includes(`\nwindhover_${line}\n`), line);
  metrics.observeNodes({ waiting: 0, states, processes: 4, reservedCores: 2.5, capacityCores: null });
  assert.doesNotMatch(await metrics.print(), /^windhover_node_capacity_cores/m, "not limited");
  metrics.observeNodes(null);
  assert.doesNotMatch(await metrics.print(), /^windhover_(node_|nodes\{|processes_waiting)/m);
});
