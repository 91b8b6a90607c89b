/** The processes that have a track report. */
import type { TrackedProcess } from "../../../client/client.ts";
import { formatTime } from "../../components/format.ts";
import { Loaded, More, useList } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
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

interface ReportPageData {
  readonly tracked_processes: readonly TrackedProcess[];
  readonly next_cursor?: string;
}

function ReportList() {
  const { query, showMore } = useList((page, signal) => windhover.listTrackedProcesses(page, { signal }), [], POLL_MS);
  return html`
    <h1>Reports</h1>
    <${Loaded} query=${query}>
      ${({ tracked_processes: reports, next_cursor: next }: ReportPageData) =>
        reports.length === 0
          ? html`<${Empty} title="No reports yet"><p>Processes write a report if their key has the track logger.</p></${Empty}>`
          : html`
              <table class="cards">
                <thead><tr><th>Source</th><th>From</th><th>To</th><th>Tracks</th><th>Enhanced</th><th>Video</th></tr></thead>
                <tbody>${reports.map(
                  (one) => html`
                    <tr key=${one.uuid}>
                      <td><a href=${linkTo("reports", one.uuid)}>${one.alias ?? one.uuid}</a></td>
                      <td data-name="From">${formatTime(one.started_at)}</td>
                      <td data-name="To">${one.finished_at === null ? html`<span class="state live">running</span>` : formatTime(one.finished_at)}</td>
                      <td data-name="Tracks">${one.track_count}</td>
                      <td data-name="Enhanced">${one.enhancement === null ? "no" : html`<span class="state ${one.enhancement}">${one.enhancement.toLowerCase()}</span>`}</td>
                      <td data-name="Video">${one.video_url === null ? "none" : html`<a href=${one.video_url} download>Download</a>`}</td>
                    </tr>
                  `,
                )}</tbody>
              </table>
              <${More} count=${reports.length} next=${next} onMore=${showMore} />
            `}
    </${Loaded}>
  `;
}
