/** The first page: what runs now, as pictures. */
import { useState } from "preact/hooks";
import type { DetectionMessage, Process, Source } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { DemoButton } from "../../parts/demo-button.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Still } from "./still.ts";

const EVERY_MS = 2_000;
const NAMES_MS = 15_000;
/** More are on the page of all processes. */
const MOST = 24;

type Names = ReadonlyMap<string, string>;

export function Live() {
  const { asked, reload } = useAsked((signal) => windhover.listProcesses({ limit: MOST }, { signal }), [], EVERY_MS);
  const { asked: sources } = useAsked((signal) => windhover.listSources({}, { signal }), [], NAMES_MS);
  const known: readonly Source[] = "value" in sources ? (sources.value?.sources ?? []) : [];
  const names: Names = new Map(known.map(({ uuid, alias }) => [uuid, alias]));
  return html`
    <div class="row spread"><h1>Live</h1><a class="button primary" href=${addressOf("processes", "new")}>Start a process</a></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ processes }: { processes: readonly Process[] }) =>
        processes.length === 0 ? html`<${Nothing} />` : html`<${Wall} processes=${processes} names=${names} />`}
    </${Shown}>
  `;
}

const Nothing = () => html`
  <${Empty} title="Nothing runs yet">
    <p>Add a <a href=${addressOf("sources")}>source</a> (a video file, a camera, a drone's stream) and start a process on it.</p>
    <${DemoButton} />
  </${Empty}>
`;

/** One large and live, the others small: a browser keeps only a few connections to one service. */
function Wall({ processes, names }: { processes: readonly Process[]; names: Names }) {
  const chosen = place.value.query.get("process");
  const large =
    processes.find(({ uuid }) => uuid === chosen) ??
    processes.find(({ state }) => state === "running") ??
    (processes[0] as Process);
  const others = processes.filter(({ uuid }) => uuid !== large.uuid);
  return html`
    <div class="wall">
      <${Large} key=${large.uuid} process=${large} names=${names} />
      ${
        others.length > 0 &&
        html`<ul class="stills" aria-label="Other processes">
          ${others.map(
            (process) => html`
              <li key=${process.uuid} class="card">
                <a href=${`${addressOf("live")}?process=${process.uuid}`} aria-label=${`Show ${nameOf(process, names)} large`}>
                  <${Still} processUuid=${process.uuid} isRunning=${process.state === "running"} />
                </a>
                <${Caption} process=${process} names=${names} />
              </li>
            `,
          )}
        </ul>`
      }
    </div>
  `;
}

function Large({ process, names }: { process: Process; names: Names }) {
  const [found, setFound] = useState<readonly (readonly [string, number])[]>([]);
  const onDetections = ({ active_tracks }: DetectionMessage): void => setFound(countClasses(active_tracks));
  return html`
    <section class="card large" aria-label=${nameOf(process, names)}>
      <${LiveView} processUuid=${process.uuid} news=${{ onDetections }} />
      <${Caption} process=${process} names=${names} />
      <p class="found">${found.length === 0 ? "Nothing found now" : found.map(([name, count]) => html`<span key=${name}><strong>${count}</strong> ${name}</span>`)}</p>
    </section>
  `;
}

/** Most first; as many as each other by their names, so that they stay in place. */
function countClasses(tracks: DetectionMessage["active_tracks"]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { class_name } of tracks) counts.set(class_name, (counts.get(class_name) ?? 0) + 1);
  return [...counts].sort(([a, first], [b, second]) => second - first || a.localeCompare(b));
}

const Caption = ({ process, names }: { process: Process; names: Names }) => {
  const state = process.reconnecting ? "reconnecting" : process.state;
  return html`
    <div class="row spread caption">
      <a href=${addressOf("processes", process.uuid)}><strong>${nameOf(process, names)}</strong></a>
      <span class="row"><span class="hint">${process.graph} · ${process.stats.fps_processed.toFixed(1)} a second</span><span class="state ${state}">${state}</span></span>
    </div>
  `;
};

const nameOf = ({ source_uuid, source_url }: Process, names: Names): string => names.get(source_uuid) ?? source_url;
