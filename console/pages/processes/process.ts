/** One process: its video, status, outputs and notifications while it runs; its report and recordings once it has ended. */
import { useState } from "preact/hooks";
import type { AlertEvent, Process, StatsEvent, TrackedProcess } from "../../../client/client.ts";
import { formatBytes, formatCount, formatDuration, formatTime } from "../../components/format.ts";
import { useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { focusContent, linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Notification } from "../alerts/notifications.ts";
import { RunningPipeline } from "../graphs/pipeline.ts";
import { Heading } from "./calibrate.ts";
import { Outputs } from "./outputs.ts";
import { ShadowDetails } from "./shadow.ts";
import { isActive, noteOf, StateMark } from "./state-mark.ts";

const POLL_MS = 3_000;
const MAX_NOTIFICATIONS = 20;

export function ProcessPage({ uuid }: { uuid: string }) {
  const query = useQuery((signal) => windhover.readProcess({ process_uuid: uuid }, { signal }), [uuid], POLL_MS);
  return html`
    <nav aria-label="Breadcrumbs" class="crumbs"><a href=${linkTo("processes")}>Processes</a></nav>
    ${whenLoaded(
      query,
      (process) => html`
        <${Title} process=${process} onChange=${query.reload} />
        ${process.error !== null && html`<p class="failed" role="alert"><strong>${process.error.code}</strong> ${process.error.detail}</p>`}
        ${process.last_error !== null && html`<${Crash} process=${process} crash=${process.last_error} />`}
        ${isActive(process) ? html`<${Running} process=${process} onChange=${query.reload} />` : html`<${Ended} process=${process} />`}
      `,
    )}
  `;
}

interface ProcessProps {
  readonly process: Process;
  onChange(): void;
}

function Title({ process, onChange }: ProcessProps) {
  const nameOf = useSourceNames();
  const [isBusy, setBusy] = useState(false);
  const { uuid: process_uuid, state } = process;
  const run = async (action: () => Promise<unknown>, done: string): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await attempt(action, done);
    onChange();
    setBusy(false);
  };
  const pause = () => run(() => windhover.pauseProcess({ process_uuid }), "Paused");
  const resume = () => run(() => windhover.resumeProcess({ process_uuid }), "Resumed");
  const stop = () => run(() => windhover.stopProcess({ process_uuid }), "Stopped").then(focusContent);
  return html`
    <div class="row spread">
      <h1>${nameOf(process)} <${StateMark} process=${process} /></h1>
      <div class="row">
        ${(state === "running" || state === "paused") && html`<button type="button" class=${state === "paused" ? "primary" : ""} aria-disabled=${isBusy} onClick=${state === "paused" ? resume : pause}>${state === "paused" ? "Resume" : "Pause"}</button>`}
        ${isActive(process) && html`<button type="button" class="danger" aria-disabled=${isBusy} onClick=${stop}>Stop</button>`}
      </div>
    </div>
  `;
}

/** Also after the process has recovered or ended: its results may be incomplete. */
const Crash = ({ process, crash }: { process: Process; crash: NonNullable<Process["last_error"]> }) => html`
  <section class=${process.restarting ? "failed" : "card"} aria-label="Last crash">
    <p><strong>${process.restarting ? "Restarting after a crash" : "Crashed"}</strong> ${formatTime(crash.at)}, ${formatCount(process.stats.restarts, "restart")}: ${crash.detail}</p>
    ${crash.trace !== undefined && crash.trace.length > 0 && html`<details><summary>Stack trace</summary><pre>${crash.trace.join("\n")}</pre></details>`}
  </section>
`;

function Running({ process, onChange }: ProcessProps) {
  const [stats, setStats] = useState<StatsEvent["stats"]>(process.stats);
  const [events, setEvents] = useState<readonly AlertEvent[]>([]);
  const handlers = {
    onStats: (event: StatsEvent) => setStats(event.stats),
    onState: onChange,
    onAlert: (event: AlertEvent) => setEvents((before) => [event, ...before].slice(0, MAX_NOTIFICATIONS)),
  };
  return html`
    <div class="process">
      <div class="stack">
        <${LiveView} processUuid=${process.uuid} note=${noteOf(process)} ...${handlers} />
        <${PipelineDetails} uuid=${process.uuid} />
        ${process.state === "running" && html`<${ShadowDetails} process=${process} />`}
      </div>
      <aside class="stack" aria-label="Details">
        <${Facts} process=${process} stats=${stats} />
        <${Outputs} process=${process} onChange=${onChange} />
        ${process.telemetry !== null && html`<${Heading} process=${process} />`}
        ${
          events.length > 0 &&
          html`<section aria-label="Notifications" aria-live="polite"><h2>Notifications</h2>
            <ul class="notifications">${events.map((event) => html`<${Notification} key=${event.id} event=${event} />`)}</ul>
          </section>`
        }
      </aside>
    </div>
  `;
}

/** Fetched only while it is open. */
function PipelineDetails({ uuid }: { uuid: string }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <details onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Pipeline</summary>${isOpen && html`<${RunningPipeline} uuid=${uuid} />`}
    </details>
  `;
}

const Facts = ({ process, stats }: { process: Process; stats: StatsEvent["stats"] }) => html`
  <section class="card" aria-label="Status">
    <dl class="facts">
      ${isActive(process) && html`<${Rates} stats=${stats} />`}
      <dt>Frames dropped</dt><dd>${stats.frames_dropped}</dd>
      ${(stats.frames_lost ?? 0) > 0 && html`<dt>Frames lost</dt><dd>${stats.frames_lost} not processed because of crashes</dd>`}
      <dt>Restarts</dt><dd>${stats.restarts}</dd>
      <dt>Graph</dt><dd><${GraphName} graph=${process.graph} /></dd>
      <dt>Source</dt><dd>${process.source_url}</dd>
      <dt>Started</dt><dd>${formatTime(process.started_at)}</dd>
      ${process.finished_at !== null && html`<dt>Ended</dt><dd>${formatTime(process.finished_at)}${formatRun(process)}</dd>`}
      ${process.telemetry !== null && html`<dt>Telemetry</dt><dd>${process.telemetry.state}${process.telemetry.detail ? `: ${process.telemetry.detail}` : ""}</dd>`}
      ${process.recording !== null && html`<dt>Recording</dt><dd>${process.recording.is_recording ? "on" : (process.recording.status_detail ?? "off")}</dd>`}
    </dl>
  </section>
`;

const Rates = ({ stats }: { stats: StatsEvent["stats"] }) => html`
  <dt>fps</dt><dd>${stats.fps_in.toFixed(1)} in · ${stats.fps_processed.toFixed(1)} processed</dd>
  <dt>Latency</dt><dd>${Math.round(stats.latency_ms.p50)} ms (p50), ${Math.round(stats.latency_ms.p95)} ms (p95)</dd>
  <dt>Inference time</dt><dd>${Math.round(stats.inference_ms)} ms</dd>
`;

/** The graph name of a process that tries an edited text. */
const TRIED = "try";

/** The text of a tried graph exists only in the tab of its author: a link leads back to the editor. */
const GraphName = ({ graph }: { graph: string }) => {
  const edited = route.value.query.get("tried");
  if (graph !== TRIED) return html`<a href=${linkTo("graphs", graph)}>${graph}</a>`;
  if (edited === null) return "edited copy";
  return html`edited copy, <a href=${linkTo("graphs", edited, "edit")}>back to the editor</a>`;
};

function formatRun({ started_at, finished_at }: Process): string {
  if (started_at === null || finished_at === null) return "";
  return `, after ${formatDuration((Date.parse(finished_at) - Date.parse(started_at)) / 1000)}`;
}

const Ended = ({ process }: { process: Process }) => html`
  <div class="process">
    <div class="stack">
      <section class="card stack" aria-label="Results">
        <${Report} uuid=${process.uuid} />
        <div class="row"><a class="button" href=${`${linkTo("processes", "new")}?source=${process.source_uuid}`}>Start again</a></div>
      </section>
      ${process.recordings.length > 0 && html`<${Video} recordings=${process.recordings} />`}
    </div>
    <aside class="stack" aria-label="Details"><${Facts} process=${process} stats=${process.stats} /></aside>
  </div>
`;

function Report({ uuid }: { uuid: string }) {
  const query = useQuery(async (signal) => ({ report: await findReport(uuid, signal) }), [uuid]);
  return html`
    ${whenLoaded(query, ({ report }) =>
      report === null
        ? html`<p>The process has ended. It has no report.</p>`
        : html`<p>The process has ended. It tracked ${formatCount(report.track_count, "object")}.</p>
              <div class="row"><a class="button primary" href=${linkTo("reports", uuid)}>Open report</a></div>`,
    )}
  `;
}

/** Page by page: the latest reports are on the first one. */
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
  // URLs are signed again with every response. The first one stays, so that playback is not interrupted.
  const [files] = useState(recordings);
  const file = files[index];
  return html`
    <section class="card stack" aria-label="Recording">
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
