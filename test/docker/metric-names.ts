/** Every metric of GET /metrics with its labels: printed by the registry itself after one observation of each. */
import { Metrics } from "../../server/metrics/metrics.ts";
import { countProcesses } from "../../server/processes/view.ts";

/** Labels by sample name; histograms have the samples `_bucket`, `_count` and `_sum`. */
export async function listMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const metrics = new Metrics();
  metrics.observeProcesses(countProcesses([]));
  metrics.observeProcess("one", {
    ...{ fps_in: 1, fps_processed: 1, fps_out: 1, frames_dropped: 1, latency_ms: { p50: 1, p95: 1 } },
    ...{ inference_ms: 1, rss_bytes: 1, loop_delay_ms: 1, restarts: 1, frames_lost: 1 },
    link: { round_trip_ms: 1, packets_received: 1, packets_lost: 1, latency_ms: 1 },
  });
  metrics.observeTelemetry("one", { received: 1, refused: 1, thinned: 1, ageMs: 1 });
  metrics.media.observe({
    ...{ streams: 1, readers: 1, connections: 1, rssBytes: 1, restarts: 1 },
    ...{ pictures: 1, bytes: 1, missed: 1, refused: 1 },
  });
  metrics.observeStreams([
    {
      ...{ path: "ann/drone", pictures: 1, bytes: 1, readers: 1, missed: 1, jitterMs: 1 },
      link: { rttMs: 1, received: 1, lost: 1, dropped: 1 },
    },
  ]);
  metrics.alerts.observe({ written: 1, lost: 1, waiting: 1 });
  metrics.observeDelivery([
    {
      ...{ kind: "mqtt", waiting: 1, destinations: 1, failing: 1 },
      ...{ attempts: 1, failures: 1, delivered: 1, dropped: 1 },
    },
  ]);
  metrics.observeNodes({
    ...{ waiting: 1, states: { live: 1, draining: 1, lost: 1 } },
    ...{ processes: 1, reservedCores: 1, capacityCores: 1 },
  });
  metrics.observeComponents({ database: "away" });
  metrics.observeRequest({ method: "GET", route: "/status", status: 200, seconds: 1 });
  const found = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of (await metrics.print()).matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const names = found.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) names.add(label);
    found.set(name, names);
  }
  return found;
}
