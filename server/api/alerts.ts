/** Alerts: registered for all processes of a user, or for one. */
import {
  AlertChange,
  AlertChangeQuery,
  AlertDescription,
  AlertDescriptionQuery,
  AlertListing,
  AlertRecord,
  newAlertOf,
} from "../../schemas/api/alerts.ts";
import { Deleted, PageQuery } from "../../schemas/api/records.ts";
import { describeType } from "../alerts/alert-types.ts";
import type { Alerts } from "../alerts/alerts.ts";
import { changeAlert, describeAlerts, registerAlert, removeAlert } from "../alerts/change-alert.ts";
import type { Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import { type AlertRow, findAlert, listActive, listAlerts } from "../store/alerts.ts";
import type { Page } from "../store/page.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

export interface AlertEndpointNeeds {
  readonly alerts: Alerts;
  readonly processes: Pick<Processes, "expectOffer">;
}

const tag = "Alerts";
const access = "key";

/** What a graph must have. */
const OFFER = "alerts";

const NEW_ERRORS = ["alerts_limit_reached", "address_refused"] as const;

export function alertEndpoints({ alerts, processes }: AlertEndpointNeeds): readonly AnyEndpoint[] {
  const { sql } = alerts.deps;
  const { types } = alerts;
  const NewAlert = newAlertOf(types.all);
  const describe = async (alert: AlertRow, shown?: ReadonlySet<string>) =>
    (await describeAlerts(sql, [alert], shown))[0];
  const describePage = async ({ rows, nextCursor }: Page<AlertRow>) => ({
    alerts: await describeAlerts(sql, rows),
    ...(nextCursor !== null && { next_cursor: nextCursor }),
  });
  return [
    defineEndpoint({
      method: "GET",
      path: "/alert_description",
      tag,
      id: "describeAlertType",
      summary: "What a type of alert does and takes",
      description: `Types are ${types.all.map(({ name }) => `\`${name}\``).join(", ")}.`,
      access,
      query: AlertDescriptionQuery,
      answers: { 200: { description: "With an example that posts as it is.", schema: AlertDescription } },
      errors: [],
      handle({ query }) {
        const [parameter, name] = query.name === undefined ? ["type", query.type] : ["name", query.name];
        if (name !== undefined) return { status: 200, body: describeType(types.expect(name, parameter)) };
        const message = `is missing; expected one of ${types.all.map((type) => type.name).join(", ")}`;
        throw new ServiceError("invalid_input", {
          detail: `name ${message}.`,
          errors: [{ path: "name", message }],
        });
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/alert",
      tag,
      id: "registerAlert",
      summary: "Registers an alert for all processes",
      description:
        "It applies to all active processes whose graph can evaluate it, at once, and to those that are started later. A host that no name server knows is refused; one that is away is not: notices wait for it.",
      access,
      body: NewAlert,
      answers: { 201: { description: "Registered. Secrets of webhooks are shown this once.", schema: AlertRecord } },
      errors: NEW_ERRORS,
      async handle({ user, body }) {
        const { alert, shown } = await registerAlert(alerts, user, body, null);
        return { status: 201, body: await describe(alert, shown) };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/alert/{uuid}",
      tag,
      id: "addAlert",
      summary: "Makes an alert for one process, by the process's uuid",
      description: "It goes with its process. `GET /active/alerts` lists it, `GET /alerts` does not.",
      access,
      body: NewAlert,
      answers: { 201: { description: "It runs. Secrets of webhooks are shown this once.", schema: AlertRecord } },
      errors: [...NEW_ERRORS, "process_not_found", "wrong_state", "graph_lacks"],
      async handle({ user, params, body }) {
        const processUuid = params.uuid ?? "";
        await processes.expectOffer(user, processUuid, OFFER);
        const { alert, shown } = await registerAlert(alerts, user, body, processUuid);
        return { status: 201, body: await describe(alert, shown) };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/alerts",
      tag,
      id: "listAlerts",
      summary: "Lists your registered alerts, active or not",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: AlertListing } },
      errors: [],
      handle: async ({ user, query }) => ({
        status: 200,
        body: await describePage(await listAlerts(sql, user.uuid, query)),
      }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/active/alerts",
      tag,
      id: "listActiveAlerts",
      summary: "Lists active alerts with the processes they run on",
      description:
        "One entry for every alert and process that it runs on, `process_uuid`, with what it runs with there; those of single processes too.",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: AlertListing } },
      errors: [],
      handle: async ({ user, query }) => ({
        status: 200,
        body: await describePage(await listActive(sql, user.uuid, query)),
      }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/alert/{uuid}",
      tag,
      id: "readAlert",
      summary: "Shows an alert, by the alert's uuid",
      access,
      answers: { 200: { description: "The alert.", schema: AlertRecord } },
      errors: ["alert_not_found"],
      async handle({ user, params }) {
        return { status: 200, body: await describe(await findAlert(sql, user.uuid, params.uuid ?? "")) };
      },
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/alert/{uuid}",
      tag,
      id: "changeAlert",
      summary: "Changes an alert, by the alert's uuid",
      description:
        "What is left out stays. Each of `trigger`, `region`, `filter`, `parameters` and `output` that is sent replaces the whole of it and begins the alert anew. `status` and `alias` hold at once. A changed configuration waits for the next start of a process as `pending`, or, with `force`, is live on every running process at once, without a restart: no client, output or track is disturbed. A crash of a runner or of the service is no start. While the alert is inactive it runs nowhere, and nothing waits. A webhook that answered 410 Gone is told nothing more until `output` is sent again or the alert is made active again. `force` may be in the query or in the body; the query wins.",
      access,
      query: AlertChangeQuery,
      body: AlertChange,
      answers: {
        200: { description: "The alert as it is now. New secrets are shown this once.", schema: AlertRecord },
      },
      errors: ["alert_not_found", ...NEW_ERRORS],
      async handle({ user, params, query, body }) {
        const force = query.force ?? body.force ?? false;
        const { alert, shown } = await changeAlert(alerts, user, params.uuid ?? "", body, force);
        return { status: 200, body: await describe(alert, shown) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/alert/{uuid}",
      tag,
      id: "deleteAlert",
      summary: "Stops an alert on every process and removes it, by the alert's uuid",
      description: "Notices that wait for its outputs go with it.",
      access,
      answers: { 200: { description: "It is gone.", schema: Deleted } },
      errors: ["alert_not_found"],
      async handle({ user, params }) {
        const uuid = params.uuid ?? "";
        await removeAlert(alerts, user, uuid);
        return { status: 200, body: { deleted: true, uuid } };
      },
    }),
  ];
}
