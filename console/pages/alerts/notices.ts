/** Notices of all running processes, as they come. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { AlertEvent } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Follower, MOST_FOLLOWED } from "../../live/follow.ts";
import { formatTime } from "../../parts/format.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";

const MOST = 100;
const EVERY_MS = 5_000;

export function Notices() {
  const { asked } = useAsked((signal) => windhover.listProcesses({}, { signal }), [], EVERY_MS);
  const processes = "value" in asked ? (asked.value?.processes ?? []) : [];
  const uuids = processes.map(({ uuid }) => uuid);
  const nameOf = useSourceNames();
  const nameProcess = (uuid: string): string => {
    const process = processes.find((one) => one.uuid === uuid);
    return process === undefined ? "process" : nameOf(process);
  };
  const [notices, setNotices] = useState<readonly AlertEvent[]>([]);
  // The newest first: they are of version 7.
  const joined = uuids.sort().reverse().join(" ");
  const follower = useMemo(
    () =>
      new Follower((_, { event, data }) => {
        if (event === "alert") setNotices((before) => [JSON.parse(data) as AlertEvent, ...before].slice(0, MOST));
      }),
    [],
  );
  useEffect(() => follower.follow(joined === "" ? [] : joined.split(" ")), [joined]);
  useEffect(() => () => follower.close(), []);
  const left = uuids.length - MOST_FOLLOWED;
  return html`
    <section aria-label="Notices" aria-live="polite">
      <h2 class="gap">Notices</h2>
      ${notices.length === 0 ? html`<p class="hint">${uuids.length === 0 ? "No process runs." : "None since this page was opened."}</p>` : html`<ul class="notices">${notices.map((notice) => html`<${Notice} key=${notice.id} notice=${notice} where=${nameProcess(notice.process_uuid)} />`)}</ul>`}
      ${left > 0 && html`<p class="hint">Of the ${MOST_FOLLOWED} newest processes; ${left} more run.</p>`}
    </section>
  `;
}

/** `where`: what its process is called; left out on the page of that process. */
export const Notice = ({ notice, where }: { notice: AlertEvent; where?: string }) => {
  const { image } = (notice.data.patch ?? {}) as { image?: string };
  return html`
    <li class="card">
      ${image !== undefined && html`<img class="patch" alt="" src=${`data:image/jpeg;base64,${image}`} />`}
      <div>
        <strong>${notice.alias}</strong> <span class="state ${notice.event === "cleared" ? "" : "live"}">${notice.event}</span>
        <p class="hint">${formatTime(notice.timestamp)} ·${where !== undefined && html` <a href=${addressOf("processes", notice.process_uuid)}>${where}</a> ·`} ${nameTracks(notice)}</p>
      </div>
    </li>
  `;
};

const nameTracks = ({ tracks }: AlertEvent): string =>
  tracks.map((track) => `${track.class_name} ${track.track_id}`).join(", ") || "no tracks";
