/** The report of one process: when each track was seen, and a card for each with its picture. */
import { useState } from "preact/hooks";
import type { Process, TrackReport } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { ReportHead } from "./report-head.ts";
import { TimeLine } from "./time-line.ts";
import { showCard, TrackCards } from "./track-cards.ts";

const EVERY_MS = 5_000;
const PAGE = 100;

interface Known {
  readonly report: TrackReport;
  /** Null: nobody knows it any more. */
  readonly process: Process | null;
  /** What it ran on. */
  readonly alias: string | null;
}

export function ReportPage({ uuid }: { uuid: string }) {
  /** Of the pages that one went through, the one shown last. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const page = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const [report, process] = await Promise.all([
        windhover.readTracks({ process_uuid: uuid, ...page }, { signal }),
        windhover.readProcess({ process_uuid: uuid }, { signal }).catch(() => null),
      ]);
      return { report: report as TrackReport, process, alias: await findAlias(process, signal) };
    },
    [uuid, cursor],
    EVERY_MS,
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("reports")}>Reports</a></nav>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ report, process, alias }: Known) => html`
        <${ReportHead} report=${report} process=${process} alias=${alias} onChange=${reload} />
        ${report.tracks.length === 0 ? html`<${Empty} title="Nothing was seen in this window" />` : html`<${TimeLine} tracks=${report.tracks} onChoose=${showCard} /><${TrackCards} tracks=${report.tracks} />`}
        <${Pages} number=${cursors.length + 1} next=${report.next_cursor} onBack=${() => setCursors(cursors.slice(0, -1))} onNext=${(next: string) => setCursors([...cursors, next])} />
      `}
    </${Shown}>
  `;
}

async function findAlias(process: Process | null, signal: AbortSignal): Promise<string | null> {
  if (process === null) return null;
  const source = await windhover.readSource({ source_id: process.source_uuid }, { signal }).catch(() => null);
  return source?.alias ?? process.source_url;
}

interface PagesParts {
  readonly number: number;
  readonly next: string | undefined;
  onBack(): void;
  onNext(cursor: string): void;
}

const Pages = ({ number, next, onBack, onNext }: PagesParts) =>
  (number > 1 || next !== undefined) &&
  html`
    <nav class="row pages" aria-label="Pages of the report">
      <button type="button" disabled=${number === 1} onClick=${onBack}>Earlier tracks</button>
      <span class="hint">Page ${number}, ${PAGE} tracks each</span>
      <button type="button" disabled=${next === undefined} onClick=${() => next !== undefined && onNext(next)}>Later tracks</button>
    </nav>
  `;
