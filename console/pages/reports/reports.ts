/** What was seen: the processes that have a report, and the report of one. */
import type { TrackedProcess } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { formatTime } from "../../parts/format.ts";
import { More, useListing } from "../../parts/listing.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { ReportPage } from "./report.ts";

const EVERY_MS = 5_000;

export function Reports() {
  const [, uuid] = place.value.parts;
  return uuid === undefined ? html`<${ReportList} />` : html`<${ReportPage} key=${uuid} uuid=${uuid} />`;
}

interface Reported {
  readonly tracked_processes: readonly TrackedProcess[];
  readonly next_cursor?: string;
}

function ReportList() {
  const { asked, reload, showMore } = useListing(
    (page, signal) => windhover.listTrackedProcesses(page, { signal }),
    [],
    EVERY_MS,
  );
  return html`
    <h1>Reports</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ tracked_processes: reports, next_cursor: next }: Reported) =>
        reports.length === 0
          ? html`<${Empty} title="No reports yet"><p>Processes of keys with the track logger keep what they see.</p></${Empty}>`
          : html`
              <table class="cards">
                <thead><tr><th>Source</th><th>From</th><th>To</th><th>Tracks</th><th>Enhanced</th><th>Video</th></tr></thead>
                <tbody>${reports.map(
                  (one) => html`
                    <tr key=${one.uuid}>
                      <td><a href=${addressOf("reports", one.uuid)}>${one.alias ?? one.uuid}</a></td>
                      <td data-name="From">${formatTime(one.started_at)}</td>
                      <td data-name="To">${one.finished_at === null ? html`<span class="state live">runs</span>` : formatTime(one.finished_at)}</td>
                      <td data-name="Tracks">${one.track_count}</td>
                      <td data-name="Enhanced">${one.enhancement === null ? "no" : html`<span class="state ${one.enhancement}">${one.enhancement.toLowerCase()}</span>`}</td>
                      <td data-name="Video">${one.video_url === null ? "none" : html`<a href=${one.video_url} download>Download</a>`}</td>
                    </tr>
                  `,
                )}</tbody>
              </table>
              <${More} count=${reports.length} next=${next} onMore=${showMore} />
            `}
    </${Shown}>
  `;
}
