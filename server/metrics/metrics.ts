/** Metrics for Prometheus. All names start with `windhover_`, except those of the Node process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RunnerStats } from "../../schemas/runner.ts";
import type { AlertNumbers } from "../alerts/alerts.ts";
import type { NodeNumbers } from "../cluster/numbers.ts";
import type { DeliveryReading } from "../delivery/outbox.ts";
import type { DetectionNumbers } from "../detections/detection-writer.ts";
import type { MediaNumbers, StreamNumbers } from "../media/live-streams.ts";
import type { CrashCounts } from "../processes/processes.ts";
import type { EndState, ProcessNumbers } from "../processes/view.ts";
import type { TelemetryNumbers } from "../telemetry/status.ts";

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the endpoint, `/process/{process_uuid}`, not the path, whose number is unlimited. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

export type ProcessStats = RunnerStats & CrashCounts;

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

const inSeconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1000);

const OF_PROCESSES: readonly Row<ProcessStats>[] = [
  ["fps_in", "Input frames per second", (stats) => stats.fps_in],
  ["fps_processed", "Frames processed per second", (stats) => stats.fps_processed],
  ["fps_out", "Output frames per second", (stats) => stats.fps_out],
  ["latency_p50_seconds", "Latency from capture to the sink, median", (stats) => stats.latency_ms.p50 / 1000],
  ["latency_p95_seconds", "Latency from capture to the sink, 95th percentile", (stats) => stats.latency_ms.p95 / 1000],
  ["inference_seconds", "Duration of an inference", (stats) => stats.inference_ms / 1000],
  ["frames_dropped_total", "Frames dropped by this runner", (stats) => stats.frames_dropped],
  ["restarts_total", "Restarts after a crash", (stats) => stats.restarts],
  ["frames_lost_total", "Frames of a file never processed because of crashes", (stats) => stats.frames_lost],
  ["runner_rss_bytes", "Memory of its runner", (stats) => stats.rss_bytes],
  [
    "runner_loop_delay_seconds",
    "Longest delay of its runner's event loop within a second",
    (stats) => stats.loop_delay_ms / 1000,
  ],
  ["link_round_trip_seconds", "Round trip to an SRT source", ({ link }) => inSeconds(link?.round_trip_ms)],
  ["link_latency_seconds", "Receive buffer of an SRT source", ({ link }) => inSeconds(link?.latency_ms)],
  ["link_packets_received_total", "Packets of an SRT source", ({ link }) => link?.packets_received ?? null],
  [
    "link_packets_lost_total",
    "Packets of an SRT source found missing; they are requested again",
    ({ link }) => link?.packets_lost ?? null,
  ],
];

const OF_TELEMETRY: readonly Row<TelemetryNumbers>[] = [
  ["messages_received_total", "Telemetry messages received", ({ received }) => received],
  ["messages_refused_total", "Invalid telemetry messages", ({ refused }) => refused],
  ["messages_thinned_total", "Telemetry messages dropped because of their rate", ({ thinned }) => thinned],
  ["age_seconds", "Time since the last telemetry message", ({ ageMs }) => (ageMs === null ? null : ageMs / 1000)],
];

const OF_MEDIA: readonly Row<MediaNumbers>[] = [
  ["streams", "Published streams", ({ streams }) => streams],
  ["readers", "Players, HLS, WebRTC and recordings of all streams", ({ readers }) => readers],
  ["connections", "Connections to RTSP, RTMP and SRT", ({ connections }) => connections],
  ["hub_rss_bytes", "Memory of the media hub", ({ rssBytes }) => rssBytes],
  ["hub_restarts_total", "Restarts of the media hub after a crash", ({ restarts }) => restarts],
  ["pictures_total", "Frames published", ({ pictures }) => pictures],
  ["bytes_total", "Bytes published", ({ bytes }) => bytes],
  ["missed_pictures_total", "Frames dropped for slow readers", ({ missed }) => missed],
  ["refused_total", "Connections rejected", ({ refused }) => refused],
];

const OF_STREAMS: readonly Row<StreamNumbers>[] = [
  ["jitter_seconds", "Irregularity of the arrival of frames", ({ jitterMs }) => jitterMs / 1000],
  [
    "round_trip_seconds",
    "Round trip to the publisher (SRT)",
    ({ link }) => (link === undefined || link.rttMs === null ? null : link.rttMs / 1000),
  ],
  [
    "packets_received_total",
    "Packets received from the publisher (SRT, RTP over UDP)",
    ({ link }) => link?.received ?? null,
  ],
  ["packets_lost_total", "Packets found missing; SRT requests them again", ({ link }) => link?.lost ?? null],
  ["packets_dropped_total", "Packets lost for good", ({ link }) => link?.dropped ?? null],
];

const OF_ALERTS: readonly Row<AlertNumbers>[] = [
  ["notices_total", "Alert notifications stored", ({ written }) => written],
  [
    "notices_lost_total",
    "Alert notifications lost because the database was unavailable for too long",
    ({ lost }) => lost,
  ],
  ["notices_waiting", "Alert notifications waiting for the database", ({ waiting }) => waiting],
];

const OF_DETECTIONS: readonly Row<DetectionNumbers>[] = [
  ["written_total", "Detection messages stored", ({ written }) => written],
  [
    "lost_total",
    "Detection messages not stored: no disk space, or the disk failed or was too slow",
    ({ lost }) => lost,
  ],
  ["bytes_total", "Size of stored detection messages", ({ bytes }) => bytes],
];

const OF_DELIVERY: readonly Row<DeliveryReading>[] = [
  ["waiting", "Notifications waiting for delivery, of all servers on this database", ({ waiting }) => waiting],
  ["destinations", "Destinations, of all servers on this database", ({ destinations }) => destinations],
  ["failing", "Destinations whose last delivery failed", ({ failing }) => failing],
  ["attempts_total", "Delivery attempts", ({ attempts }) => attempts],
  ["failures_total", "Failed delivery attempts", ({ failures }) => failures],
  ["delivered_total", "Notifications delivered", ({ delivered }) => delivered],
  ["dropped_total", "Notifications dropped: queue full or too old", ({ dropped }) => dropped],
];

const OF_NODE: readonly Row<NodeNumbers>[] = [
  ["node_processes", "Active processes of this node", ({ processes }) => processes],
  ["node_reserved_cores", "Cores reserved for the processes of this node", ({ reservedCores }) => reservedCores],
  [
    "node_capacity_cores",
    "Cores that this node offers to processes (`cluster.cores`); absent: not limited",
    ({ capacityCores }) => capacityCores,
  ],
  [
    "processes_waiting",
    "Processes that no node has room for, of all servers on this database",
    ({ waiting }) => waiting,
  ],
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #requests = new Histogram({
    name: "windhover_http_request_seconds",
    help: "Duration of HTTP requests",
    labelNames: ["method", "route", "status"],
    ...{ buckets: SECONDS, registers: this.#registers },
  });
  readonly #states = new Gauge({
    name: "windhover_processes",
    help: "Processes of this machine that have not ended, by state",
    ...{ labelNames: ["state"], registers: this.#registers },
  });
  readonly #reconnecting = new Gauge({
    name: "windhover_processes_reconnecting",
    help: "Processes whose source is offline",
    registers: this.#registers,
  });
  readonly #ended = new Counter({
    name: "windhover_processes_ended_total",
    help: "Processes that ended on this machine, by state; failed starts count as failed",
    ...{ labelNames: ["state"], registers: this.#registers },
  });
  readonly #processes = this.#read("windhover_process_", OF_PROCESSES, ["process"]);
  readonly #telemetry = this.#read("windhover_telemetry_", OF_TELEMETRY, ["process"]);
  readonly media = this.#read("windhover_media_", OF_MEDIA);
  readonly #streams = this.#read("windhover_stream_", OF_STREAMS, ["path"]);
  #streamPaths: readonly string[] = [];
  readonly alerts = this.#read("windhover_alert_", OF_ALERTS);
  readonly detections = this.#read("windhover_detections_", OF_DETECTIONS);
  readonly #delivery = this.#read("windhover_delivery_", OF_DELIVERY, ["kind"]);
  readonly #node = this.#read("windhover_", OF_NODE);
  readonly #nodes = new Gauge({
    name: "windhover_nodes",
    help: "Nodes on this database, by state",
    ...{ labelNames: ["state"], registers: this.#registers },
  });
  readonly #components = new Gauge({
    name: "windhover_component_up",
    help: "1 if a component of the service is healthy, else 0",
    ...{ labelNames: ["component"], registers: this.#registers },
  });
  readonly #checks = new Counter({
    name: "windhover_component_failures_total",
    help: "Failed health checks of a component",
    ...{ labelNames: ["component"], registers: this.#registers },
  });

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    // From the start: otherwise the first failure would not be an increase.
    for (const state of ["finished", "failed"] as const) this.#ended.inc({ state }, 0);
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

  /** It has ended. */
  forgetProcess(uuid: string): void {
    this.#processes.forget({ process: uuid });
    this.#telemetry.forget({ process: uuid });
  }

  observeStreams(streams: readonly StreamNumbers[]): void {
    for (const path of this.#streamPaths) this.#streams.forget({ path });
    this.#streamPaths = streams.map(({ path }) => path);
    for (const stream of streams) this.#streams.observe(stream, { path: stream.path });
  }

  observeDelivery(readings: readonly DeliveryReading[]): void {
    for (const reading of readings) this.#delivery.observe(reading, { kind: reading.kind });
  }

  /** Null: the database cannot be reached. Then the values are unknown, and autoscaling must not act on old ones. */
  observeNodes(numbers: NodeNumbers | null): void {
    this.#node.forget({});
    this.#nodes.reset();
    if (numbers === null) return;
    this.#node.observe(numbers);
    for (const [state, count] of Object.entries(numbers.states)) this.#nodes.set({ state }, count);
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

  #read<T>(prefix: string, rows: readonly Row<T>[], labelNames: string[] = []): Readings<T> {
    return new Readings(prefix, rows, { labelNames, registers: this.#registers });
  }
}

/** `read` returns null without a value. */
type Row<T> = readonly [name: string, help: string, read: (from: T) => number | null];

type Labels = Readonly<Record<string, string>>;

/** Values that are counted elsewhere. Those with names ending in `_total` are counters, the others gauges. */
class Readings<T> {
  readonly #rows: readonly (readonly [Gauge | Counter, Row<T>[2]])[];

  constructor(
    prefix: string,
    rows: readonly Row<T>[],
    options: { readonly labelNames: string[]; readonly registers: Registry[] },
  ) {
    this.#rows = rows.map(([name, help, read]) => {
      const Metric = name.endsWith("_total") ? Counter : Gauge;
      return [new Metric({ name: `${prefix}${name}`, help, ...options }), read];
    });
  }

  observe(from: T, labels: Labels = {}): void {
    for (const [metric, read] of this.#rows) {
      const value = read(from);
      if (value === null) continue;
      metric.remove(labels);
      metric.inc(labels, value);
    }
  }

  forget(labels: Labels): void {
    for (const [metric] of this.#rows) metric.remove(labels);
  }
}
