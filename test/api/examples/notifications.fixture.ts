/** Examples of the tags Alerts, Webhooks and Events. */
import type { Static } from "typebox";
import type { EventSubscription } from "../../../schemas/api/account-events.ts";
import type { AlertRecord } from "../../../schemas/api/alerts.ts";
import type { NoticeListing, NoticeRecord } from "../../../schemas/api/notices.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids, World } from "./world.fixture.ts";

export async function callNotifications(run: ExampleRun, { receiver }: World, { process }: Ids): Promise<void> {
  const output = [{ type: "webhook", config: { url: receiver } }];
  const evidence = { clip: { before_seconds: 1, after_seconds: 1 }, snapshot: true };
  await run.call("describeAlertType", 200, { query: { name: "filter-search" } });
  await run.call("previewAlert", 200, { json: { alias: "Car", type: "filter-search", output } });
  const { uuid } = await run.call<AlertRecord>("registerAlert", 201, {
    json: { alias: "Car", type: "filter-search", filter: { class_names: ["car"] }, evidence, output },
  });
  await run.call("addAlert", 201, {
    params: { uuid: process },
    json: {
      alias: "Across the road",
      type: "flow-control",
      region: {
        line: [
          [0.5, 0],
          [0.5, 1],
        ],
      },
      output,
    },
  });
  await run.call("readAlert", 200, { params: { uuid } });
  await run.call("listAlerts", 200, { query: { limit: "10" } });
  await run.call("listActiveAlerts", 200, { query: { process_uuid: process } });

  await callWebhooks(run, process, receiver);
  await callEvents(run, receiver);
  await callNotices(run, uuid);
  await run.call("changeAlert", 200, { params: { uuid }, query: { force: "true" }, json: { status: "inactive" } });
  await run.call("deleteAlert", 200, { params: { uuid } });
}

async function callNotices(run: ExampleRun, alert: string): Promise<void> {
  const query = { alert, limit: "10" };
  const list = () => run.call<Static<typeof NoticeListing>>("listNotices", 200, { query });
  const { uuid } = await poll("evidence of the notice", async () => {
    const { notices } = await list();
    return notices.find(({ evidence }) => evidence?.state === "ready");
  });
  const params = { notice_uuid: uuid };
  await run.call("readNotice", 200, { params });
  await run.call("downloadEvidenceClip", 200, { params });
  await run.call("downloadEvidenceSnapshot", 200, { params });
  await run.call<NoticeRecord>("reviewNotice", 200, { params, json: { reviewed: true, comment: "as usual" } });
  await run.call("deleteNotice", 200, { params });
}

async function callWebhooks(run: ExampleRun, process_uuid: string, receiver: string): Promise<void> {
  const params = { process_uuid };
  await run.call("subscribe", 201, {
    params,
    json: {
      ...{ notification_url: receiver, event_type: "new-tracks", notification_format: "simple" },
      notifier_policy_args: { backoff_seconds: 5 },
    },
  });
  await run.call("listSubscriptions", 200, { params });
  await run.call("testSubscriptions", 200, { params, json: { event_type: "new-tracks" } });
  await run.call("unsubscribe", 200, { params, json: { event_type: "new-tracks" } });
}

async function callEvents(run: ExampleRun, url: string): Promise<void> {
  await run.call("listEvents", 200, { query: { type: "process-started", limit: "10" } });
  const { uuid } = await run.call<Static<typeof EventSubscription>>("subscribeToEvents", 201, {
    json: { types: ["process-failed", "stream-ended"], output: [{ type: "webhook", config: { url } }] },
  });
  const params = { subscription_uuid: uuid };
  await run.call("listEventSubscriptions", 200);
  await run.call("testEventSubscription", 200, { params });
  await run.call("unsubscribeFromEvents", 200, { params });
}
