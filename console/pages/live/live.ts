/** The first page: what runs now, as pictures. */
import { useState } from "preact/hooks";
import type { DetectionMessage, Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { DemoButton } from "../../parts/demo-button.ts";
import { type NameOf, useSourceNames } from "../../parts/source-names.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { noteOf, StateMark } from "../processes/state-mark.ts";
import { Still } from "./still.ts";

const EVERY_MS = 2_000;
/** More are on the page of all processes. */
const MOST = 24;

export function Live() {
  const { asked, reload } = useAsked((signal) => windhover.listProcesses({ limit: MOST }, { signal }), [], EVERY_MS);
  const nameOf = useSourceNames();
  return html`
    <div class="row spread"><h1>Live</h1><a class="button primary" href=${addressOf("processes", "new")}>Start a process</a></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ processes }: { processes: readonly Process[] }) =>
        processes.length === 0 ? html`<${Nothing} />` : html`<${Wall} processes=${processes} nameOf=${nameOf} />`}
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
function Wall({ processes, nameOf }: { processes: readonly Process[]; nameOf: NameOf }) {
  const chosen = place.value.query.get("process");
  const large =
    processes.find(({ uuid }) => uuid === chosen) ??
    processes.find(({ state }) => state === "running") ??
    (processes[0] as Process);
  const others = processes.filter(({ uuid }) => uuid !== large.uuid);
  return html`
    <div class="wall">
      <${Large} key=${large.uuid} process=${large} nameOf=${nameOf} />
      ${
        others.length > 0 &&
        html`<ul class="stills" aria-label="Other processes">
          ${others.map(
            (process) => html`
              <li key=${process.uuid} class="card">
                <a href=${`${addressOf("live")}?process=${process.uuid}`} aria-label=${`Show ${nameOf(process)} large`}>
                  <${Still} processUuid=${process.uuid} isRunning=${process.state === "running"} />
                </a>
                <${Caption} process=${process} nameOf=${nameOf} />
              </li>
            `,
          )}
        </ul>`
      }
    </div>
  `;
}

function Large({ process, nameOf }: { process: Process; nameOf: NameOf }) {
  const [found, setFound] = useState<readonly (readonly [string, number])[]>([]);
  const onDetections = ({ active_tracks }: DetectionMessage): void => setFound(countClasses(active_tracks));
  return html`
    <section class="card large" aria-label=${nameOf(process)}>
      <${LiveView} processUuid=${process.uuid} note=${noteOf(process)} news=${{ onDetections }} />
      <${Caption} process=${process} nameOf=${nameOf} />
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

const Caption = ({ process, nameOf }: { process: Process; nameOf: NameOf }) => html`
  <div class="row spread caption">
    <a href=${addressOf("processes", process.uuid)}><strong>${nameOf(process)}</strong></a>
    <span class="row"><span class="hint">${process.graph} · ${process.stats.fps_processed.toFixed(1)} a second</span><${StateMark} process=${process} /></span>
  </div>
`;
