import type { Process, StatsEvent } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { formatSpan, formatTime } from "../../parts/format.ts";
import { addressOf, place } from "../../router.ts";
import { isActive } from "./state-mark.ts";

interface FactsNeeds {
  readonly process: Process;
  readonly stats: StatsEvent["stats"];
}

export const Facts = ({ process, stats }: FactsNeeds) => html`
  <section class="card" aria-label="How it gets on">
    <dl class="facts">
      ${isActive(process) && html`<${Rates} stats=${stats} />`}
      <dt>Frames dropped</dt><dd>${stats.frames_dropped}</dd>
      ${(stats.frames_lost ?? 0) > 0 && html`<dt>Frames lost</dt><dd>${stats.frames_lost}, never processed because of crashes</dd>`}
      <dt>Restarts</dt><dd>${stats.restarts}</dd>
      <dt>Graph</dt><dd><${GraphName} graph=${process.graph} /></dd>
      <dt>Source</dt><dd>${process.source_url}</dd>
      <dt>Started</dt><dd>${formatTime(process.started_at)}</dd>
      ${process.finished_at !== null && html`<dt>Ended</dt><dd>${formatTime(process.finished_at)}${lasted(process)}</dd>`}
      ${process.telemetry !== null && html`<dt>Telemetry</dt><dd>${process.telemetry.state}${process.telemetry.detail ? `: ${process.telemetry.detail}` : ""}</dd>`}
      ${process.recording !== null && html`<dt>Recording</dt><dd>${process.recording.is_recording ? "goes on" : (process.recording.status_detail ?? "off")}</dd>`}
    </dl>
  </section>
`;

/** What a process that tries a text has as its graph. */
const TRIED = "try";

/** A text that is tried is nobody's but its author's: in their tab it is still in the editor. */
const GraphName = ({ graph }: { graph: string }) => {
  const edited = place.value.query.get("tried");
  if (graph !== TRIED) return html`<a href=${addressOf("graphs", graph)}>${graph}</a>`;
  if (edited === null) return "a text that is tried";
  return html`a text that is tried, <a href=${addressOf("graphs", edited, "edit")}>back to it</a>`;
};

const Rates = ({ stats }: { stats: StatsEvent["stats"] }) => html`
  <dt>Frames a second</dt><dd>${stats.fps_in.toFixed(1)} in · ${stats.fps_processed.toFixed(1)} looked at</dd>
  <dt>Latency</dt><dd>${Math.round(stats.latency_ms.p50)} ms, 95 % within ${Math.round(stats.latency_ms.p95)} ms</dd>
  <dt>One inference</dt><dd>${Math.round(stats.inference_ms)} ms</dd>
`;

function lasted({ started_at, finished_at }: Process): string {
  if (started_at === null || finished_at === null) return "";
  return `, after ${formatSpan((Date.parse(finished_at) - Date.parse(started_at)) / 1000)}`;
}
