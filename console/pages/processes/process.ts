/** One process: what it sees, how it gets on, and where that goes. */
import { useState } from "preact/hooks";
import type { Process, StatsEvent } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { formatTime } from "../../parts/format.ts";
import { Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Outputs } from "./outputs.ts";

const EVERY_MS = 3_000;
const isActive = ({ state }: Process): boolean => state !== "finished" && state !== "failed";

export function ProcessPage({ uuid }: { uuid: string }) {
  const { asked, reload } = useAsked(
    (signal) => windhover.readProcess({ process_uuid: uuid }, { signal }),
    [uuid],
    EVERY_MS,
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("processes")}>Processes</a></nav>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(process: Process) => html`<${Body} process=${process} onChange=${reload} />`}
    </${Shown}>
  `;
}

function Body({ process, onChange }: { process: Process; onChange: () => void }) {
  const [stats, setStats] = useState<StatsEvent["stats"]>(process.stats);
  const { uuid: process_uuid, state } = process;
  const order = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    await attempt(work, done);
    onChange();
  };
  return html`
    <div class="row spread">
      <h1>${process.source_url} <span class="state ${process.reconnecting ? "reconnecting" : state}">${process.reconnecting ? "reconnecting" : state}</span></h1>
      <div class="row">
        ${state === "running" && html`<button type="button" onClick=${() => order(() => windhover.pauseProcess({ process_uuid }), "Paused")}>Pause</button>`}
        ${state === "paused" && html`<button type="button" onClick=${() => order(() => windhover.resumeProcess({ process_uuid }), "Goes on")}>Resume</button>`}
        ${isActive(process) && html`<button type="button" class="danger" onClick=${() => order(() => windhover.stopProcess({ process_uuid }), "Stopped")}>Stop</button>`}
      </div>
    </div>
    ${process.error !== null && html`<p class="failed" role="alert"><strong>${process.error.code}</strong> ${process.error.detail}</p>`}
    <div class="process">
      <div>${isActive(process) && html`<${LiveView} processUuid=${process_uuid} news=${{ onStats: (event: StatsEvent) => setStats(event.stats), onState: onChange }} />`}</div>
      <aside class="stack">
        <${Facts} process=${process} stats=${stats} />
        ${isActive(process) && html`<${Outputs} process=${process} onChange=${onChange} />`}
      </aside>
    </div>
  `;
}

const Facts = ({ process, stats }: { process: Process; stats: StatsEvent["stats"] }) => html`
  <section class="card" aria-label="How it gets on">
    <dl class="facts">
      <dt>Frames a second</dt><dd>${stats.fps_in.toFixed(1)} in · ${stats.fps_processed.toFixed(1)} looked at</dd>
      <dt>Latency</dt><dd>${Math.round(stats.latency_ms.p50)} ms, 95 % within ${Math.round(stats.latency_ms.p95)} ms</dd>
      <dt>One inference</dt><dd>${Math.round(stats.inference_ms)} ms</dd>
      <dt>Frames dropped</dt><dd>${stats.frames_dropped}</dd>
      <dt>Restarts</dt><dd>${stats.restarts}</dd>
      <dt>Graph</dt><dd>${process.graph}</dd>
      <dt>Started</dt><dd>${formatTime(process.started_at)}</dd>
      ${process.finished_at !== null && html`<dt>Ended</dt><dd>${formatTime(process.finished_at)}</dd>`}
      ${process.telemetry !== null && html`<dt>Telemetry</dt><dd>${process.telemetry.state}${process.telemetry.detail ? `: ${process.telemetry.detail}` : ""}</dd>`}
    </dl>
  </section>
`;
