/** What those who run the service look at. */
import type { Config } from "../../schemas/config.ts";
import type { AlertNumbers } from "../alerts/notice-writer.ts";
import type { DeliveryReading } from "../delivery/delivery-counts.ts";
import type { MediaNumbers } from "../media/live-streams.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ProcessNumbers } from "../processes/view.ts";
import { ServiceError } from "../service-error.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface OperationsNeeds {
  readonly config: Config;
  readonly metrics: Metrics;
  components(): Promise<Readonly<Record<string, string>>>;
  processNumbers(): ProcessNumbers;
  mediaNumbers(): MediaNumbers;
  /** Never rejects. */
  readDelivery(): Promise<readonly DeliveryReading[]>;
  alertNumbers?(): AlertNumbers;
}

/**
 * An operator's key and not just any: the numbers name the processes of all users, and each customer may have a master
 * key. Not the address of the caller either: behind a proxy on this machine everybody would come from it. The key may
 * also come as `Authorization: Bearer`, which is how Prometheus reads one from a file.
 */
export function operationsEndpoints(needs: OperationsNeeds): readonly AnyEndpoint[] {
  const { config, metrics, components, processNumbers, mediaNumbers, readDelivery } = needs;
  return [
    defineEndpoint({
      method: "GET",
      path: "/metrics",
      tag: "Operations",
      id: "readMetrics",
      summary: "Numbers for Prometheus",
      description:
        "Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; notices and their delivery; requests by route; health of the parts. Needs the key of an operator (the first key, or one made with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set.",
      access: config.http.metrics_open ? "none" : "bearer",
      answers: { 200: { description: "The text format of Prometheus.", mediaType: "text/plain" } },
      errors: ["operator_key_needed"],
      async handle({ user }) {
        if (user !== null && !user.isOperator)
          throw new ServiceError("operator_key_needed", {
            detail:
              "/metrics names the processes of all users: ask with the first key, or with one made by `windhover keys create NAME --operator`.",
          });
        metrics.observeComponents(await components());
        metrics.observeProcesses(processNumbers());
        metrics.observeMedia(mediaNumbers());
        if (needs.alertNumbers !== undefined) metrics.observeAlerts(needs.alertNumbers());
        metrics.observeDelivery(await readDelivery());
        return new Response(await metrics.print(), { headers: { "content-type": metrics.contentType } });
      },
    }),
  ];
}
