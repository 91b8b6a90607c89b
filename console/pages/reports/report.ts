/** The report of one process: its time line and its tracks; it can be downloaded, enhanced and deleted. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EnhancementState, Process, TrackReport } from "../../../client/client.ts";
import { confirm } from "../../components/dialog.ts";
import { formatCount, formatDuration } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo, navigateFrom, route } from "../../router.ts";
import { request, windhover } from "../../session.ts";
import { isActive } from "../processes/state-mark.ts";
import { showCard, TimeLine, TrackCards } from "./tracks.ts";

const POLL_MS = 5_000;
const ENHANCEMENT_MS = 1_000;
const PAGE_SIZE = 100;

interface ReportData {
  readonly report: TrackReport;
  /** Null: deleted. */
  readonly process: Process | null;
  /** Name of its source. */
  readonly alias: string | null;
}

export function ReportPage({ uuid }: { uuid: string }) {
  /** Of the pages from the second to the current one. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const query = useQuery(
    async (signal): Promise<ReportData> => {
      const page = { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      const [report, process] = await Promise.all([
        windhover.readTracks({ process_uuid: uuid, ...page }, { signal }),
        windhover.readProcess({ process_uuid: uuid }, { signal }).catch(() => null),
      ]);
      return { report: report as TrackReport, process, alias: await findAlias(process, signal) };
    },
    [uuid, cursor],
    POLL_MS,
  );
  return html`
    <nav aria-label="Breadcrumbs" class="crumbs"><a href=${linkTo("reports")}>Reports</a></nav>
    ${whenLoaded(
      query,
      ({ report, process, alias }) => html`
        <${Head} report=${report} process=${process} alias=${alias} onChange=${query.reload} />
        ${report.tracks.length === 0 ? html`<${Empty} title="No tracks in this time window" />` : html`<${TimeLine} tracks=${report.tracks} onChoose=${showCard} /><${TrackCards} tracks=${report.tracks} />`}
        <${Pages} number=${cursors.length + 1} next=${report.next_cursor} onBack=${() => setCursors(cursors.slice(0, -1))} onNext=${(next: string) => setCursors([...cursors, next])} />
      `,
    )}
  `;
}

async function findAlias(process: Process | null, signal: AbortSignal): Promise<string | null> {
  if (process === null) return null;
  const source = await windhover.readSource({ source_id: process.source_uuid }, { signal }).catch(() => null);
  return source?.alias ?? process.source_url;
}

interface PagesProps {
  readonly number: number;
  readonly next: string | undefined;
  onBack(): void;
  onNext(cursor: string): void;
}

const Pages = ({ number, next, onBack, onNext }: PagesProps) =>
  (number > 1 || next !== undefined) &&
  html`
    <nav class="row pages" aria-label="Pages of the report">
      <button type="button" disabled=${number === 1} onClick=${onBack}>Earlier tracks</button>
      <span class="hint">Page ${number}, ${PAGE_SIZE} tracks each</span>
      <button type="button" disabled=${next === undefined} onClick=${() => next !== undefined && onNext(next)}>Later tracks</button>
    </nav>
  `;

const FORMATS = [
  ["geojson", "GeoJSON"],
  ["kml", "KML"],
  ["csv", "CSV"],
] as const;

function Head({ report, process, alias, onChange }: ReportData & { onChange: () => void }) {
  const { process_uuid, time_window_minutes } = report;
  const isRunning = process !== null && isActive(process);
  const remove = async (): Promise<void> => {
    const text = "This deletes its tracks with their paths and images.";
    if (!(await confirm({ title: "Delete this report?", action: "Delete", text }))) return;
    const { value: here } = route;
    if (await attempt(() => windhover.deleteTracks({ process_uuid }), "Report deleted"))
      navigateFrom(here, linkTo("reports"));
  };
  const minutes = formatCount(time_window_minutes, "minute");
  return html`
    <div class="row spread">
      <div class="title">
        <h1>Report${alias !== null && ` of ${alias}`}</h1>
        <p class="hint">${isRunning ? html`<span class="state live">live</span> last ${minutes}` : (durationOf(process) ?? minutes)}</p>
      </div>
      <div class="row" role="group" aria-label="Download">
        ${FORMATS.map(([format, name]) => html`<button key=${format} type="button" aria-label=${`Download as ${name}`} onClick=${() => void download(process_uuid, format)}>↓ ${name}</button>`)}
        <button type="button" class="danger" onClick=${() => void remove()}>Delete</button>
      </div>
    </div>
    <${Enhancement} processUuid=${process_uuid} isRunning=${isRunning} onDone=${onChange} />
  `;
}

/** Exact, where the window of the report is in whole minutes. */
function durationOf(process: Process | null): string | null {
  if (!process?.started_at || !process.finished_at) return null;
  return `Duration ${formatDuration((Date.parse(process.finished_at) - Date.parse(process.started_at)) / 1000)}`;
}

async function download(processUuid: string, format: (typeof FORMATS)[number][0]): Promise<void> {
  await attempt(async () => {
    const response = await request(`/process/${processUuid}/tracks?format=${format}`);
    const url = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = `tracks-${processUuid}.${format}`;
    link.click();
    URL.revokeObjectURL(url);
  });
}

type EnhancementProps = { processUuid: string; isRunning: boolean; onDone: () => void };

function Enhancement({ processUuid, isRunning, onDone }: EnhancementProps) {
  const { value: user } = useQuery((signal) => windhover.getUserInfo({ signal }), []);
  const { value, reload } = useQuery(
    async (signal): Promise<EnhancementState | null> =>
      isRunning ? null : await windhover.readEnhancement({ process_uuid: processUuid }, { signal }).catch(() => null),
    [processUuid, isRunning],
  );
  const status = value?.status;
  const before = useRef(status);
  useEffect(() => {
    if (before.current === "RUNNING" && status === "FINISHED") onDone();
    before.current = status;
    if (status !== "RUNNING") return undefined;
    const timer = setInterval(reload, ENHANCEMENT_MS);
    return () => clearInterval(timer);
  }, [status]);
  const enhance = async (): Promise<void> => {
    await attempt(() => windhover.enhanceTracks({ process_uuid: processUuid }), "Enhancement started");
    reload();
  };
  if (user === undefined || value === undefined) return null;
  if (!user.is_enhancement_enabled)
    return html`<p class="hint enhancement">Enhancement is not enabled for this key. It adds colours, vehicle types and licence plates. An operator can create a key with enhancement.</p>`;
  if (isRunning) return html`<p class="hint enhancement">The report can be enhanced once the process has finished.</p>`;
  return html`
    <div class="row enhancement">
      <button type="button" disabled=${status === "RUNNING"} onClick=${() => void enhance()}>${status === "FINISHED" ? "Enhance again" : "Enhance"}</button>
      ${value === null ? html`<span class="hint">Adds colours, vehicle types and licence plates.</span>` : html`<${Progress} state=${value} />`}
    </div>
  `;
}

const STATUS_TEXTS = { RUNNING: "enhancing", FINISHED: "enhanced", FAILED: "enhancement failed" } as const;

const Progress = ({ state: { status, progress, detail } }: { state: EnhancementState }) => html`
  <p role="status"><span class="state ${status}">${STATUS_TEXTS[status]}</span> <span class="hint">${detail}</span></p>
  ${status === "RUNNING" && html`<progress max="1" value=${progress} aria-label="Enhancement"></progress>`}
`;
