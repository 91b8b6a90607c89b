/** What the report is of, and what can be done with it as a whole. */
import { useState } from "preact/hooks";
import type { Process, TrackReport } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { Confirm } from "../../parts/dialog.ts";
import { formatSpan } from "../../parts/format.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf, goFrom, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { isActive } from "../processes/state-mark.ts";
import { downloadTracks } from "./download.ts";
import { Enhancement } from "./enhancement.ts";

const FORMATS = { geojson: "GeoJSON", kml: "KML", csv: "CSV" } as const;

interface HeadParts {
  readonly report: TrackReport;
  /** Null: nobody knows it any more. */
  readonly process: Process | null;
  /** What it is of, as people call it. */
  readonly alias: string | null;
  onChange(): void;
}

export function ReportHead({ report, process, alias, onChange }: HeadParts) {
  const [isDoomed, setDoomed] = useState(false);
  const { process_uuid, time_window_minutes } = report;
  const isRunning = process !== null && isActive(process);
  const remove = async (): Promise<void> => {
    setDoomed(false);
    const { value: here } = place;
    if (await attempt(() => windhover.deleteTracks({ process_uuid }), "The report is gone"))
      goFrom(here, addressOf("reports"));
  };
  return html`
    <div class="row spread">
      <div class="title">
        <h1>Report${alias !== null && ` of ${alias}`}</h1>
        <p class="hint">${isRunning ? html`<span class="state live">live</span> the last ${minutes(time_window_minutes)}` : (spanOf(process) ?? minutes(time_window_minutes))}</p>
      </div>
      <div class="row" role="group" aria-label="Download">
        ${(Object.keys(FORMATS) as (keyof typeof FORMATS)[]).map((format) => html`<button key=${format} type="button" aria-label=${`Download as ${FORMATS[format]}`} onClick=${() => void downloadTracks(process_uuid, format)}>↓ ${FORMATS[format]}</button>`)}
        <button type="button" class="danger" onClick=${() => setDoomed(true)}>Delete</button>
      </div>
    </div>
    <${Enhancement} processUuid=${process_uuid} isRunning=${isRunning} onDone=${onChange} />
    ${isDoomed && html`<${Confirm} title="Delete this report?" action="Delete" onClose=${() => setDoomed(false)} onConfirm=${() => void remove()}><p>Tracks, their paths and their pictures go.</p></${Confirm}>`}
  `;
}

/** The window of a report is in whole minutes: a clip of 80 seconds would be said to be two of them long. */
function spanOf(process: Process | null): string | null {
  if (!process?.started_at || !process.finished_at) return null;
  return `${formatSpan((Date.parse(process.finished_at) - Date.parse(process.started_at)) / 1000)} long`;
}

const minutes = (count: number): string => `${count} ${count === 1 ? "minute" : "minutes"}`;
