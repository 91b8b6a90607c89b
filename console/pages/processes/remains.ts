/** What an ended process leaves: the report of what it saw, and its video where the key has that. */
import { useState } from "preact/hooks";
import type { Process, TrackedProcess } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { formatBytes } from "../../parts/format.ts";
import { Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";

export const Remains = ({ process }: { process: Process }) => html`
  <div class="stack">
    <section class="card stack" aria-label="What is left of it">
      <${Report} uuid=${process.uuid} />
      <div class="row"><a class="button" href=${`${addressOf("processes", "new")}?source=${process.source_uuid}`}>Start it again</a></div>
    </section>
    ${process.recordings.length > 0 && html`<${Video} recordings=${process.recordings} />`}
  </div>
`;

function Report({ uuid }: { uuid: string }) {
  const { asked, reload } = useAsked(async (signal) => ({ report: await findReport(uuid, signal) }), [uuid]);
  return html`
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ report }: { report: TrackedProcess | null }) =>
        report === null
          ? html`<p>It has ended. There is no report of it.</p>`
          : html`<p>It has ended, and saw ${report.track_count === 1 ? "one object" : `${report.track_count} objects`}.</p>
              <div class="row"><a class="button primary" href=${addressOf("reports", uuid)}>To the report</a></div>`}
    </${Shown}>
  `;
}

/** Page by page: those that have just ended are on the first one. */
async function findReport(uuid: string, signal: AbortSignal): Promise<TrackedProcess | null> {
  for (let cursor: string | undefined; ; ) {
    const page = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { tracked_processes, next_cursor } = await windhover.listTrackedProcesses(page, { signal });
    const report = tracked_processes.find((one) => one.uuid === uuid);
    if (report !== undefined || next_cursor === undefined) return report ?? null;
    cursor = next_cursor;
  }
}

function Video({ recordings }: { recordings: Process["recordings"] }) {
  const [index, setIndex] = useState(0);
  // Addresses are signed anew with every answer: the first one plays on.
  const [files] = useState(recordings);
  const file = files[index];
  return html`
    <section class="card stack" aria-label="Its video">
      <video key=${index} class="player" controls muted preload="metadata" src=${file?.download_url} aria-label="Recorded video"></video>
      <div class="row">
        ${
          files.length > 1 &&
          files.map(
            (one, i) =>
              html`<button key=${one.index} type="button" aria-pressed=${i === index} onClick=${() => setIndex(i)}>Part ${i + 1}</button>`,
          )
        }
        ${file !== undefined && html`<a class="button" href=${file.download_url} download>Download (${formatBytes(file.size_bytes)})</a>`}
      </div>
    </section>
  `;
}
