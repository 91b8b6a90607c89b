/** For operators: metrics and the demo. */
import { DemoState, RunningDemo } from "../../schemas/api/demo.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import type { AlertNumbers } from "../alerts/alerts.ts";
import type { NodeNumbers } from "../cluster/numbers.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Demo } from "../demo/demo.ts";
import type { StoredDetections } from "../detections/detections.ts";
import type { MediaNumbers, StreamNumbers } from "../media/live-streams.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ProcessNumbers } from "../processes/view.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, deleted, ok } from "./endpoint.ts";
import { START_ERRORS } from "./processes.ts";

interface MetricsDeps {
  readonly config: Config;
  readonly metrics: Metrics;
  components(): Promise<Readonly<Record<string, string>>>;
  readonly processes: { readonly numbers: ProcessNumbers };
  readonly media: { readonly numbers: MediaNumbers; readonly streamNumbers: readonly StreamNumbers[] };
  readonly alerts: { readonly numbers: AlertNumbers };
  readonly detections: Pick<StoredDetections, "numbers">;
  readonly delivery: Pick<Outbox, "read">;
  /** Null: the database cannot be reached. */
  nodes(): Promise<NodeNumbers | null>;
}

const define = defineEndpoints("Operations");

export function expectOperator({ isOperator }: User, reason: string): void {
  if (isOperator) return;
  throw new ServiceError("operator_key_needed", {
    detail: `${reason}: use the first key, or one created with \`windhover keys create NAME --operator\`.`,
  });
}

/**
 * Requires an operator key: the metrics name the processes of all users, and every customer may have a master key. The
 * address of the caller cannot replace it: behind a proxy on this machine every request comes from that address.
 */
export function metricsEndpoints(deps: MetricsDeps): readonly AnyEndpoint[] {
  const { config, metrics, components, processes, media, alerts, detections, delivery, nodes } = deps;
  return [
    define("GET", "/metrics", "readMetrics", {
      summary: "Metrics for Prometheus",
      description:
        "Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; jitter, round trip and loss of every published stream; notifications and their delivery; stored detections; the nodes, their reserved cores and processes without room; requests by route; health of the components. Requires an operator key (the first key, or one created with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set.",
      access: config.http.metrics_open ? "none" : "url-key",
      answers: { 200: { description: "Prometheus text format.", mediaType: "text/plain" } },
      errors: ["operator_key_needed"],
      async handle({ user }) {
        if (user !== null) expectOperator(user, "/metrics names the processes of all users");
        metrics.observeComponents(await components());
        metrics.observeProcesses(processes.numbers);
        metrics.media.observe(media.numbers);
        metrics.observeStreams(media.streamNumbers);
        metrics.alerts.observe(alerts.numbers);
        metrics.detections.observe(detections.numbers);
        metrics.observeDelivery(await delivery.read());
        metrics.observeNodes(await nodes());
        return new Response(await metrics.print(), { headers: { "content-type": metrics.contentType } });
      },
    }),
  ];
}

/** The demo downloads a file and uses a processor core: only for operators. */
export function demoEndpoints(demo: Pick<Demo, "start" | "stop" | "describe">): readonly AnyEndpoint[] {
  const reason = "The demo requires an operator key";
  return [
    define("GET", "/demo", "readDemo", {
      summary: "Get the state of the demo",
      description: "Requires an operator key.",
      answers: { 200: { description: "State and progress.", schema: DemoState } },
      errors: ["operator_key_needed"],
      async handle({ user }) {
        expectOperator(user, reason);
        return ok(await demo.describe(user));
      },
    }),
    define("POST", "/demo", "startDemo", {
      summary: "Start the demo",
      description:
        "Registers a clip of a street as the source `Demo: street`, which is played in a loop like a camera, and starts a process with the graph `detect` on it. Answers when the process runs. The first time, the clip is downloaded (a few megabytes, from Debian's package `opencv-doc`) and converted, which takes a while; `GET /demo` shows the progress. Parts that already run are left unchanged. Requires an operator key.",
      answers: {
        200: { description: "The demo was already running.", schema: RunningDemo },
        201: { description: "The demo has started.", schema: RunningDemo },
      },
      errors: [
        ...(["operator_key_needed", "demo_unavailable", "sources_limit_reached"] as const),
        ...(["video_invalid", "video_too_large", "storage_limit_reached", "disk_full"] as const),
        ...START_ERRORS,
      ],
      async handle({ user }) {
        expectOperator(user, reason);
        const { isNew, ...running } = await demo.start(user);
        return { status: isNew ? 201 : 200, body: running };
      },
    }),
    define("DELETE", "/demo", "stopDemo", {
      summary: "Stop the demo",
      description:
        "Stops its process and all other processes on its source, and deletes the source. The clip stays in the cache. Requires an operator key.",
      answers: { 200: { description: "The source is deleted.", schema: Deleted } },
      errors: ["operator_key_needed", "demo_not_found", "wrong_state", "source_in_use"],
      async handle({ user }) {
        expectOperator(user, reason);
        return deleted(await demo.stop(user));
      },
    }),
  ];
}
