/** What Prometheus is told. Every name begins with `windhover_`, but for those of Node's own process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RunnerStats } from "../../schemas/runner.ts";
import type { AlertNumbers } from "../alerts/alert-writer.ts";
import type { DeliveryReading } from "../delivery/outbox.ts";
import type { MediaNumbers } from "../media/live-streams.ts";
import type { CrashCounts } from "../processes/processes.ts";
import type { EndState, ProcessNumbers } from "../processes/view.ts";
import type { TelemetryNumbers } from "../telemetry/status.ts";
import { Readings, type Row } from "./readings.ts";

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the endpoint, `/process/{process_uuid}`, never the path that was asked for: of those there is no end. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

export type ProcessStats = RunnerStats & CrashCounts;

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE"];
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

const OF_PROCESSES: readonly Row<ProcessStats>[] = [
  ["fps_in", "Frames that come in, per second", (stats) => stats.fps_in],
  ["fps_processed", "Frames that are looked at, per second", (stats) => stats.fps_processed],
  ["fps_out", "Frames that go out, per second", (stats) => stats.fps_out],
  ["latency_p50_seconds", "From capture to the sink, median", (stats) => stats.latency_ms.p50 / 1000],
  ["latency_p95_seconds", "From capture to the sink, 95 of 100", (stats) => stats.latency_ms.p95 / 1000],
  ["inference_seconds", "One look of the model", (stats) => stats.inference_ms / 1000],
  ["frames_dropped_total", "Frames dropped by this runner", (stats) => stats.frames_dropped],
  ["restarts_total", "Restarts after a crash", (stats) => stats.restarts],
  ["frames_lost_total", "Frames of a file never processed because of crashes", (stats) => stats.frames_lost],
  ["runner_rss_bytes", "Memory of its runner", (stats) => stats.rss_bytes],
  ["runner_loop_delay_seconds", "Delay of its runner's event loop", (stats) => stats.loop_delay_ms / 1000],
];

const OF_TELEMETRY: readonly Row<TelemetryNumbers>[] = [
  ["messages_received_total", "Telemetry messages that came in", ({ received }) => received],
  ["messages_refused_total", "Telemetry messages that could not be read", ({ refused }) => refused],
  ["messages_thinned_total", "Telemetry messages left out because they came too fast", ({ thinned }) => thinned],
  ["age_seconds", "Since the last telemetry message came in", ({ ageMs }) => (ageMs === null ? null : ageMs / 1000)],
];

const OF_MEDIA: readonly Row<MediaNumbers>[] = [
  ["streams", "Streams that are published", ({ streams }) => streams],
  ["readers", "Players, HLS, WebRTC and recordings of all streams", ({ readers }) => readers],
  ["connections", "Connections to RTSP and RTMP", ({ connections }) => connections],
  ["hub_rss_bytes", "Memory of the media hub", ({ rssBytes }) => rssBytes],
  ["hub_restarts_total", "Restarts of the media hub after a crash", ({ restarts }) => restarts],
  ["pictures_total", "Pictures that were published", ({ pictures }) => pictures],
  ["bytes_total", "Bytes that were published", ({ bytes }) => bytes],
  ["missed_pictures_total", "Pictures that slow players have missed", ({ missed }) => missed],
  ["refused_total", "Connections that were refused", ({ refused }) => refused],
];

const OF_ALERTS: readonly Row<AlertNumbers>[] = [
  ["notices_total", "Notices of alerts that were written down", ({ written }) => written],
  [
    "notices_lost_total",
    "Notices of alerts that were lost because the database was away for too long",
    ({ lost }) => lost,
  ],
  ["notices_waiting", "Notices of alerts that wait for the database", ({ waiting }) => waiting],
];

const OF_DELIVERY: readonly Row<DeliveryReading>[] = [
  ["waiting", "Notices that wait for their receivers, of all servers on this database", ({ waiting }) => waiting],
  ["destinations", "Receivers, of all servers on this database", ({ destinations }) => destinations],
  ["failing", "Receivers that did not take the last notice", ({ failing }) => failing],
  ["attempts_total", "Attempts to deliver a notice", ({ attempts }) => attempts],
  ["failures_total", "Attempts that failed", ({ failures }) => failures],
  ["delivered_total", "Notices that were delivered", ({ delivered }) => delivered],
  ["dropped_total", "Notices given up: too many waited, or it took too long", ({ dropped }) => dropped],
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #states: Gauge<"state">;
  readonly #reconnecting: Gauge;
  readonly #ended: Counter<"state">;
  readonly #processes: Readings<ProcessStats>;
  readonly #telemetry: Readings<TelemetryNumbers>;
  readonly #media: Readings<MediaNumbers>;
  readonly #alerts: Readings<AlertNumbers>;
  readonly #delivery: Readings<DeliveryReading>;
  readonly #components: Gauge<"component">;
  readonly #checks: Counter<"component">;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Histogram({
      name: "windhover_http_request_seconds",
      help: "Requests that were answered, by how long it took",
      labelNames: ["method", "route", "status"],
      buckets: SECONDS,
      registers,
    });
    this.#states = new Gauge({
      name: "windhover_processes",
      help: "Processes of this machine that have not ended, by their state",
      labelNames: ["state"],
      registers,
    });
    this.#reconnecting = new Gauge({
      name: "windhover_processes_reconnecting",
      help: "Those of them whose source is away",
      registers,
    });
    this.#ended = new Counter({
      name: "windhover_processes_ended_total",
      help: "Processes that ended on this machine, by how; starts that came to nothing are among the failed",
      labelNames: ["state"],
      registers,
    });
    // From the start: otherwise the first one to fail would not be seen as an increase.
    for (const state of ["finished", "failed"] as const) this.#ended.inc({ state }, 0);
    this.#processes = new Readings("windhover_process_", OF_PROCESSES, { labelNames: ["process"], registers });
    this.#telemetry = new Readings("windhover_telemetry_", OF_TELEMETRY, { labelNames: ["process"], registers });
    this.#media = new Readings("windhover_media_", OF_MEDIA, { labelNames: [], registers });
    this.#alerts = new Readings("windhover_alert_", OF_ALERTS, { labelNames: [], registers });
    this.#delivery = new Readings("windhover_delivery_", OF_DELIVERY, { labelNames: ["kind"], registers });
    this.#components = new Gauge({
      name: "windhover_component_up",
      help: "1 when a part of the service is well, else 0",
      labelNames: ["component"],
      registers,
    });
    this.#checks = new Counter({
      name: "windhover_component_failures_total",
      help: "How often a part of the service was found not to be well",
      labelNames: ["component"],
      registers,
    });
  }

  observeRequest({ method, route, status, seconds }: AnsweredRequest): void {
    const known = METHODS.includes(method) ? method : "other";
    this.#requests.observe({ method: known, route: route ?? "none", status }, seconds);
  }

  observeProcesses({ states, reconnecting }: ProcessNumbers): void {
    for (const [state, count] of Object.entries(states)) this.#states.set({ state }, count);
    this.#reconnecting.set(reconnecting);
  }

  countEnd(state: EndState): void {
    this.#ended.inc({ state });
  }

  observeProcess(uuid: string, stats: ProcessStats): void {
    this.#processes.observe(stats, { process: uuid });
  }

  observeTelemetry(uuid: string, numbers: TelemetryNumbers): void {
    this.#telemetry.observe(numbers, { process: uuid });
  }

  /** It has ended: its numbers end with it. */
  forgetProcess(uuid: string): void {
    this.#processes.forget({ process: uuid });
    this.#telemetry.forget({ process: uuid });
  }

  observeMedia(numbers: MediaNumbers): void {
    this.#media.observe(numbers, {});
  }

  observeAlerts(numbers: AlertNumbers): void {
    this.#alerts.observe(numbers, {});
  }

  observeDelivery(readings: readonly DeliveryReading[]): void {
    for (const reading of readings) this.#delivery.observe(reading, { kind: reading.kind });
  }

  observeComponents(components: Readonly<Record<string, string>>): void {
    for (const [component, state] of Object.entries(components)) {
      this.#components.set({ component }, state === "ok" ? 1 : 0);
      this.#checks.inc({ component }, state === "ok" ? 0 : 1);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  print(): Promise<string> {
    return this.#registry.metrics();
  }
}
