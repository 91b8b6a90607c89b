/** Alerts: registered for all processes of a user, or for one. */
import {
  ActiveAlertQuery,
  AlertChange,
  AlertChangeQuery,
  AlertDescription,
  AlertDescriptionQuery,
  AlertListing,
  AlertPreview,
  AlertPreviewRequest,
  AlertQuery,
  AlertRecord,
  newAlertOf,
} from "../../schemas/api/alerts.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Alerts } from "../alerts/alerts.ts";
import {
  changeAlert,
  describeAlerts,
  describeType,
  expectType,
  registerAlert,
  removeAlert,
} from "../alerts/change-alert.ts";
import { previewOutputs } from "../alerts/preview.ts";
import type { Processes } from "../processes/processes.ts";
import { invalidInput } from "../service-error.ts";
import { type AlertRow, findAlert, listActive, listAlerts } from "../store/alerts.ts";
import type { Page } from "../store/page.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";

const define = defineEndpoints("Alerts");

const NEW_ERRORS = ["alerts_limit_reached", "address_refused"] as const;

export function alertEndpoints(alerts: Alerts, processes: Pick<Processes, "expectOffer">): readonly AnyEndpoint[] {
  const { sql, alertTypes } = alerts.deps;
  const NewAlert = newAlertOf(alertTypes);
  const describe = async (alert: AlertRow, shown?: ReadonlySet<string>) =>
    (await describeAlerts(sql, [alert], shown))[0];
  const list = async ({ rows, nextCursor }: Page<AlertRow>) =>
    listing("alerts", { rows: await describeAlerts(sql, rows), nextCursor });
  return [
    define("GET", "/alert_description", "describeAlertType", {
      summary: "Describe an alert type and its parameters",
      sources: "none",
      description: `Types: ${alertTypes.map(({ name }) => `\`${name}\``).join(", ")}.`,
      query: AlertDescriptionQuery,
      answers: { 200: { description: "With an example that can be posted unchanged.", schema: AlertDescription } },
      handle({ query }) {
        const [parameter, name] = query.name === undefined ? ["type", query.type] : ["name", query.name];
        if (name !== undefined) return ok(describeType(expectType(alertTypes, name, parameter)));
        const message = `is missing; expected one of ${alertTypes.map((type) => type.name).join(", ")}`;
        throw invalidInput([{ path: "name", message }]);
      },
    }),
    define("POST", "/alert_preview", "previewAlert", {
      summary: "Show what the outputs of an alert would send",
      scope: "read",
      sources: "none",
      description:
        "Renders a sample notification with the templates of these outputs, and rejects templates, headers and addresses that an alert would be rejected for. Nothing is sent or stored, and host names are not resolved; any valid URL or address will do.",
      body: AlertPreviewRequest,
      answers: { 200: { description: "One entry for each output.", schema: AlertPreview } },
      handle({ body }) {
        const { name } = expectType(alertTypes, body.type ?? alertTypes[0]?.name ?? "", "/type");
        return ok(previewOutputs(body, name));
      },
    }),
    define("POST", "/alert", "registerAlert", {
      summary: "Register an alert for all processes",
      description:
        "Applies at once to every active process whose graph can evaluate it, and to every process started later. A host name that does not resolve is rejected. A host that is offline is accepted: notifications are queued for it.",
      body: NewAlert,
      answers: {
        201: { description: "Registered. Webhook secrets are shown only in this answer.", schema: AlertRecord },
      },
      errors: NEW_ERRORS,
      async handle({ user, body }) {
        const { alert, shown } = await registerAlert(alerts, user, body, null);
        return { status: 201, body: await describe(alert, shown) };
      },
    }),
    define("POST", "/alert/{uuid}", "addAlert", {
      summary: "Add an alert to one process, by the process's uuid",
      description: "The alert is deleted with its process. `GET /active/alerts` lists it, `GET /alerts` does not.",
      body: NewAlert,
      answers: { 201: { description: "Active. Webhook secrets are shown only in this answer.", schema: AlertRecord } },
      errors: [...NEW_ERRORS, "process_not_found", "wrong_state", "graph_lacks"],
      async handle({ user, params: { uuid }, body }) {
        await processes.expectOffer(user, uuid, "alerts");
        const { alert, shown } = await registerAlert(alerts, user, body, uuid);
        return { status: 201, body: await describe(alert, shown) };
      },
    }),
    define("GET", "/alerts", "listAlerts", {
      summary: "List your registered alerts, active and inactive",
      sources: "listed",
      query: AlertQuery,
      answers: { 200: { description: "Newest first.", schema: AlertListing } },
      handle: async ({ user, query }) => list(await listAlerts(sql, user.uuid, query)),
    }),
    define("GET", "/active/alerts", "listActiveAlerts", {
      summary: "List active alerts with the processes they run on",
      sources: "listed",
      description:
        "One entry for each pair of alert and process (`process_uuid`), with the configuration that runs there. Alerts of single processes are included.",
      query: ActiveAlertQuery,
      answers: { 200: { description: "Newest first.", schema: AlertListing } },
      handle: async ({ user, query: { process_uuid: processUuid, ...rest } }) =>
        list(await listActive(sql, user.uuid, { ...rest, processUuid })),
    }),
    define("GET", "/alert/{uuid}", "readAlert", {
      summary: "Get an alert, by the alert's uuid",
      answers: { 200: { description: "The alert.", schema: AlertRecord } },
      errors: ["alert_not_found"],
      handle: async ({ user, params: { uuid } }) => ok(await describe(await findAlert(sql, user.uuid, uuid))),
    }),
    define("PATCH", "/alert/{uuid}", "changeAlert", {
      summary: "Change an alert, by the alert's uuid",
      description:
        "Omitted fields keep their values. Each of `trigger`, `region`, `filter`, `parameters` and `output` that you send replaces the old value completely and restarts the evaluation of the alert. `status` and `alias` take effect at once. Other changes are shown as `pending` and take effect at the next start of a process; with `force` they take effect at once on every running process, without a restart and without disturbing clients, outputs or tracks. A restart after a crash of a runner or of the service does not apply them. An inactive alert runs on no process and has nothing pending. A webhook that answered 410 Gone receives nothing more until you send `output` again or reactivate the alert. `force` can be in the query or in the body; the query takes precedence.",
      query: AlertChangeQuery,
      body: AlertChange,
      answers: {
        200: { description: "The changed alert. New secrets are shown only in this answer.", schema: AlertRecord },
      },
      errors: ["alert_not_found", ...NEW_ERRORS],
      async handle({ user, params: { uuid }, query, body }) {
        const { alert, shown } = await changeAlert(alerts, user, uuid, body, query.force ?? body.force ?? false);
        return ok(await describe(alert, shown));
      },
    }),
    define("DELETE", "/alert/{uuid}", "deleteAlert", {
      summary: "Stop an alert on every process and delete it, by the alert's uuid",
      description: "Its queued notifications are deleted too.",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["alert_not_found"],
      async handle({ user, params: { uuid } }) {
        await removeAlert(alerts, user, uuid);
        return deleted(uuid);
      },
    }),
  ];
}
