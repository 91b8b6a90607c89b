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

test("a process has its numbers while it runs, and none afterwards", async () => {
  const metrics = new Metrics();
  metrics.observeProcess("one", STATS);
  metrics.observeProcess("two", { ...STATS, fps_in: 30 });
  const running = await metrics.print();
  assert.match(running, /^windhover_process_fps_in\{process="one"\} 25$/m);
  assert.match(running, /^windhover_process_latency_p95_seconds\{process="one"\} 0\.18$/m);
  assert.match(running, /^windhover_process_runner_rss_bytes\{process="one"\} 200000000$/m);
  metrics.forgetProcess("one");
  const ended = await metrics.print();
  assert.doesNotMatch(ended, /process="one"/);
  assert.match(ended, /^windhover_process_fps_in\{process="two"\} 30$/m);
});

test("telemetry has its numbers too, and an age once a message has come", async () => {
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

test("requests are counted by the pattern of their route, whatever is asked for", async () => {
  const metrics = new Metrics();
  metrics.observeRequest({ method: "GET", route: "/process/{process_uuid}", status: 200, seconds: 0.02 });
  for (let i = 0; i < 50; i++) metrics.observeRequest({ method: `M${i}`, route: null, status: 404, seconds: 0.001 });
  const text = await metrics.print();
  const labels = 'method="GET",route="/process/{process_uuid}",status="200"';
  assert.ok(text.includes(`windhover_http_request_seconds_count{${labels}} 1`));
  assert.equal(text.match(/^windhover_http_request_seconds_count/gm)?.length, 2);
});

test("a part that is not well counts as down, and up again when it is", async () => {
  const metrics = new Metrics();
  metrics.observeComponents({ database: "does not answer", disk: "ok" });
  assert.match(await metrics.print(), /^windhover_component_up\{component="database"\} 0$/m);
  metrics.observeComponents({ database: "ok", disk: "ok" });
  const text = await metrics.print();
  assert.match(text, /^windhover_component_up\{component="database"\} 1$/m);
  assert.match(text, /^windhover_component_failures_total\{component="database"\} 1$/m);
});

test("deliveries are counted by their kind; what nobody knows is not told", async () => {
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

test("processes are counted by state while they are held, and by how they ended", async () => {
  const metrics = new Metrics();
  const running = { state: "running" as const, reconnecting: false };
  const gone = { state: "failed" as const, reconnecting: false };
  metrics.observeProcesses(countProcesses([running, { ...running, reconnecting: true }, gone]));
  metrics.countEnd("failed");
  const text = await metrics.print();
  for (const line of ['{state="running"} 2', '{state="paused"} 0', "_reconnecting 1", '_ended_total{state="failed"} 1'])
    assert.ok(text.includes(`windhover_processes${line}\n`), line);
  assert.ok(text.includes('windhover_processes_ended_total{state="finished"} 0'), "told of before the first one");
  assert.ok(!text.includes('windhover_processes{state="failed"}'));
});
