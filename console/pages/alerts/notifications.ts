/** Notifications of alerts on running processes, as they are triggered. */
import { useState } from "preact/hooks";
import type { AlertEvent } from "../../../client/client.ts";
import { formatTime } from "../../components/format.ts";
import { useQuery, useSourceNames } from "../../components/query.ts";
import { html } from "../../html.ts";
import { SubscriptionLimit, useProcessEvents } from "../../live/process-streams.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";

const MAX_SHOWN = 100;
const POLL_MS = 5_000;

export function Notifications() {
  const query = useQuery((signal) => windhover.listProcesses({}, { signal }), [], POLL_MS);
  const processes = query.value?.processes ?? [];
  const nameOf = useSourceNames();
  const nameProcess = (uuid: string): string => {
    const process = processes.find((one) => one.uuid === uuid);
    return process === undefined ? "process" : nameOf(process);
  };
  const [events, setEvents] = useState<readonly AlertEvent[]>([]);
  useProcessEvents(
    processes.map(({ uuid }) => uuid),
    (_, { event, data }) => {
      if (event === "alert") setEvents((before) => [JSON.parse(data) as AlertEvent, ...before].slice(0, MAX_SHOWN));
    },
  );
  return html`
    <section aria-label="Notifications" aria-live="polite">
      <h2 class="gap">Notifications</h2>
      ${events.length === 0 ? html`<p class="hint">${processes.length === 0 ? "No running processes." : "None since this page was opened."}</p>` : html`<ul class="notifications">${events.map((event) => html`<${Notification} key=${event.id} event=${event} processName=${nameProcess(event.process_uuid)} />`)}</ul>`}
      <${SubscriptionLimit} count=${processes.length} />
    </section>
  `;
}

/** `processName`: left out on the page of that process. */
export const Notification = ({ event, processName }: { event: AlertEvent; processName?: string }) => {
  const { image } = (event.data.patch ?? {}) as { image?: string };
  return html`
    <li class="card">
      ${image !== undefined && html`<img class="patch" alt="" src=${`data:image/jpeg;base64,${image}`} />`}
      <div>
        <strong>${event.alias}</strong> <span class="state ${event.event === "cleared" ? "" : "live"}">${event.event}</span>
        <p class="hint">${formatTime(event.timestamp)} ·${processName !== undefined && html` <a href=${linkTo("processes", event.process_uuid)}>${processName}</a> ·`} ${nameTracks(event)} · <a href=${reviewLink(event)}>Review</a></p>
      </div>
    </li>
  `;
};

/** The moment of a notice on the page Review. */
const reviewLink = ({ id, source_uuid, timestamp }: AlertEvent): string =>
  `${linkTo("review")}?${new URLSearchParams({ source: source_uuid, at: timestamp, notice: id })}`;

const nameTracks = ({ tracks }: AlertEvent): string =>
  tracks.map((track) => `${track.class_name} ${track.track_id}`).join(", ") || "no tracks";
