/** What Prometheus is told. Every name begins with `windhover_`, but for those of Node's own process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RunnerStats } from "../../schemas/runner.ts";
import type { MediaNumbers } from "../media/live-streams.ts";
import type { TelemetryNumbers } from "../telemetry/standing.ts";

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the endpoint, `/process/{process_uuid}`, never the path that was asked for: of those there is no end. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

export type ProcessStats = RunnerStats & { readonly restarts: number };

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE"];
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

/** Of a process: name, what it means, and how to read it from its stats. */
const PROCESS_GAUGES: readonly (readonly [name: string, help: string, read: (stats: ProcessStats) => number])[] = [
  ["fps_in", "Frames that come in, per second", (stats) => stats.fps_in],
  ["fps_processed", "Frames that are looked at, per second", (stats) => stats.fps_processed],
  ["fps_out", "Frames that go out, per second", (stats) => stats.fps_out],
  ["latency_p50_seconds", "From capture to the sink, median", (stats) => stats.latency_ms.p50 / 1000],
  ["latency_p95_seconds", "From capture to the sink, 95 of 100", (stats) => stats.latency_ms.p95 / 1000],
  ["inference_seconds", "One look of the model", (stats) => stats.inference_ms / 1000],
  ["frames_dropped", "Frames dropped by this runner so far", (stats) => stats.frames_dropped],
  ["restarts", "Restarts after a crash", (stats) => stats.restarts],
  ["runner_rss_bytes", "Memory of its runner", (stats) => stats.rss_bytes],
  ["runner_loop_delay_seconds", "Delay of its runner's event loop", (stats) => stats.loop_delay_ms / 1000],
];

/** Of the telemetry of a process: name, what it means, and how to read it. Null: there is nothing to tell. */
const TELEMETRY_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (numbers: TelemetryNumbers) => number | null,
])[] = [
  ["messages_received", "Telemetry messages that came in so far", ({ received }) => received],
  ["messages_refused", "Telemetry messages that could not be read so far", ({ refused }) => refused],
  ["messages_thinned", "Telemetry messages left out so far because they came too fast", ({ thinned }) => thinned],
  ["age_seconds", "Since the last telemetry message came in", ({ ageMs }) => (ageMs === null ? null : ageMs / 1000)],
];

/** Of the media hub: name, what it means, and how to read it. */
const MEDIA_GAUGES: readonly (readonly [name: string, help: string, read: (numbers: MediaNumbers) => number])[] = [
  ["streams", "Streams that are published", ({ streams }) => streams],
  ["readers", "Players, HLS, WebRTC and recordings of all streams", ({ readers }) => readers],
  ["connections", "Connections to RTSP and RTMP", ({ connections }) => connections],
  ["hub_rss_bytes", "Memory of the media hub", ({ rssBytes }) => rssBytes],
  ["hub_restarts", "Restarts of the media hub after a crash", ({ restarts }) => restarts],
  ["pictures", "Pictures that were published so far", ({ pictures }) => pictures],
  ["bytes", "Bytes that were published so far", ({ bytes }) => bytes],
  ["missed_pictures", "Pictures that slow players have missed so far", ({ missed }) => missed],
  ["refused", "Connections that were refused so far", ({ refused }) => refused],
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #processes: readonly (readonly [Gauge<"process">, (stats: ProcessStats) => number])[];
  readonly #telemetry: readonly (readonly [Gauge<"process">, (numbers: TelemetryNumbers) => number | null])[];
  readonly #media: readonly (readonly [Gauge, (numbers: MediaNumbers) => number])[];
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
    this.#processes = PROCESS_GAUGES.map(([name, help, read]) => [
      new Gauge({ name: `windhover_process_${name}`, help, labelNames: ["process"], registers }),
      read,
    ]);
    this.#telemetry = TELEMETRY_GAUGES.map(([name, help, read]) => [
      new Gauge({ name: `windhover_telemetry_${name}`, help, labelNames: ["process"], registers }),
      read,
    ]);
    this.#media = MEDIA_GAUGES.map(([name, help, read]) => [
      new Gauge({ name: `windhover_media_${name}`, help, registers }),
      read,
    ]);
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

  observeProcess(uuid: string, stats: ProcessStats): void {
    for (const [gauge, read] of this.#processes) gauge.set({ process: uuid }, read(stats));
  }

  observeTelemetry(uuid: string, numbers: TelemetryNumbers): void {
    for (const [gauge, read] of this.#telemetry) {
      const value = read(numbers);
      if (value !== null) gauge.set({ process: uuid }, value);
    }
  }

  /** It has ended: its numbers end with it. */
  forgetProcess(uuid: string): void {
    for (const [gauge] of [...this.#processes, ...this.#telemetry]) gauge.remove({ process: uuid });
  }

  observeMedia(numbers: MediaNumbers): void {
    for (const [gauge, read] of this.#media) gauge.set(read(numbers));
  }

  observeComponents(components: Readonly<Record<string, string>>): void {
    for (const [component, state] of Object.entries(components)) {
      this.#components.set({ component }, state === "ok" ? 1 : 0);
      if (state !== "ok") this.#checks.inc({ component });
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  print(): Promise<string> {
    return this.#registry.metrics();
  }
}
