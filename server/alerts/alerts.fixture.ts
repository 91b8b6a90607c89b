/** The real endpoints of alerts with the real outbox on a real database; processes with events chosen by the test. */
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { alertEndpoints } from "../api/alerts.ts";
import { makeConfig, openApp, type TestApp } from "../api/app.fixture.ts";
import { noticeEndpoints } from "../api/notices.ts";
import { Outbox } from "../delivery/outbox.ts";
import { createSigner } from "../keys/signed-urls.ts";
import { openStage, type Stage, type StageOptions } from "../processes/supervisor.fixture.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { Alerts } from "./alerts.ts";

// biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schemas of its endpoint.
type Body = any;

export interface AlertsService {
  readonly app: TestApp;
  readonly stage: Stage;
  readonly alerts: Alerts;
  /** As the stage's user, or another. */
  call(method: string, path: string, body?: unknown, user?: User): Promise<{ status: number; body: Body }>;
  /** With 201. */
  make(body?: object, processUuid?: string): Promise<AlertRecord>;
  /** What the runner evaluates, by alert: its trigger. */
  rules(processUuid: string): Promise<Readonly<Record<string, JsonRecord>>>;
  addUser(user: User): void;
  close(): Promise<void>;
}

export const CLASSES = ["person", "car", "truck", "bus", "dog"];

/** Nothing listens there. */
export const MQTT = { type: "mqtt", config: { host: "127.0.0.1:9", topic: "alerts/gate" } };

export const gate = (more: object = {}) => ({
  alias: "gate",
  type: "flow-control",
  region: {
    line: [
      [0.5, 0],
      [0.5, 1],
    ],
  },
  output: [MQTT],
  ...more,
});

const signer = createSigner(Buffer.alloc(32, 7), { urlSeconds: 60, watchSeconds: 60 });

/** The rule that the graph `ruled` has itself. */
export const OWN_RULE = { alert: "own", type: "filter-search" };

const prepare: StageOptions["needs"] = {
  prepare: async ({ graph, params }) => ({
    params,
    offers: new Set(graph === "bare" ? ["detections"] : ["detections", "alerts"]),
    slots: {},
    alertNode: graph === "bare" ? null : { name: "watch", rules: graph === "ruled" ? [OWN_RULE] : [] },
  }),
};

export async function openAlerts(
  sql: Sql,
  options: StageOptions = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<AlertsService> {
  const config = makeConfig(settings);
  const { isAlone = true } = options;
  const needs = { sql, config, log: silentLog };
  const delivery = await Outbox.open({ ...needs, nodeUuid: newUuid(), softwareVersion: "0", isAlone });
  const alerts = new Alerts({ ...needs, delivery, alertTypes: ALERT_TYPES, classNames: async () => CLASSES });
  const stage = await openStage(sql, {
    ...options,
    settings: { ...options.settings },
    needs: { ...prepare, ...options.needs, listeners: [alerts] },
  });
  const users = new Map<string, User>([[stage.user.username, { ...stage.user }]]);
  const app = await openApp([...alertEndpoints(alerts, stage.supervisor), ...noticeEndpoints(sql, signer)], {
    authenticate: async (key) => {
      const user = users.get(key ?? "");
      if (user === undefined) throw new ServiceError("api_key_invalid", { detail: "there is no such key" });
      return user;
    },
  });
  const call: AlertsService["call"] = async (method, path, body, user = stage.user) => {
    const response = await app.call(path, {
      method,
      headers: { api_key: user.username, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  return {
    ...{ app, stage, alerts, call },
    addUser: (user) => void users.set(user.username, user),
    async make(body = gate(), processUuid) {
      const made = await call("POST", processUuid === undefined ? "/alert" : `/alert/${processUuid}`, body);
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      return made.body as AlertRecord;
    },
    async rules(processUuid) {
      const { live } = await stage.inside(processUuid);
      const { rules = [] } = (live.watch ?? {}) as { readonly rules?: readonly { [name: string]: Json }[] };
      return Object.fromEntries(rules.map(({ alert, trigger }) => [String(alert), (trigger ?? {}) as JsonRecord]));
    },
    async close() {
      await app.close(1000);
      await stage.supervisor.close();
      await alerts.close();
      await delivery.close();
    },
  };
}
