/** The processes that have a track report. */
import type { TrackedProcess } from "../../../client/client.ts";
import { formatTime } from "../../components/format.ts";
import { More, useList, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { html } from "../../html.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { ReportPage } from "./report.ts";

const POLL_MS = 5_000;

/** `/reports` or `/reports/<uuid of a process>`. */
export function Reports() {
  const [, uuid] = route.value.segments;
  return uuid === undefined ? html`<${ReportList} />` : html`<${ReportPage} key=${uuid} uuid=${uuid} />`;
}

const COLUMNS: readonly Column<TrackedProcess>[] = [
  ["Source", ({ uuid, alias }) => html`<a href=${linkTo("reports", uuid)}>${alias ?? uuid}</a>`],
  ["From", ({ started_at }) => formatTime(started_at)],
  ["To", ({ finished_at: end }) => (end === null ? html`<span class="state live">running</span>` : formatTime(end))],
  ["Tracks", ({ track_count }) => track_count],
  [
    "Enhanced",
    ({ enhancement: status }) =>
      status === null ? "no" : html`<span class="state ${status}">${status.toLowerCase()}</span>`,
  ],
  ["Video", ({ video_url: url }) => (url === null ? "none" : html`<a href=${url} download>Download</a>`)],
];

function ReportList() {
  const { query, showMore } = useList((page, signal) => windhover.listTrackedProcesses(page, { signal }), [], POLL_MS);
  return html`
    <h1>Reports</h1>
    ${whenLoaded(query, ({ tracked_processes: reports, next_cursor: next }) =>
      reports.length === 0
        ? html`<${Empty} title="No reports yet"><p>Processes write a report if their key has the track logger.</p></${Empty}>`
        : html`<${Table} rows=${reports} columns=${COLUMNS} /><${More} count=${reports.length} next=${next} onMore=${showMore} />`,
    )}
  `;
}
