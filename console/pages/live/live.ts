/** The start page: running processes as video. */
import { useEffect, useState } from "preact/hooks";
import type { DetectionMessage, Process } from "../../../client/client.ts";
import { DemoButton } from "../../components/demo-button.ts";
import { type NameOf, useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { fetchFrame } from "../../live/process-streams.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { noteOf, StateMark } from "../processes/state-mark.ts";

const POLL_MS = 2_000;
const STILL_MS = 5_000;
/** The processes page lists all of them. */
const MAX_PROCESSES = 24;

export function Live() {
  const query = useQuery((signal) => windhover.listProcesses({ limit: MAX_PROCESSES }, { signal }), [], POLL_MS);
  const nameOf = useSourceNames();
  return html`
    <div class="row spread"><h1>Live</h1><a class="button primary" href=${linkTo("processes", "new")}>Start a process</a></div>
    ${whenLoaded(query, ({ processes }) =>
      processes.length === 0 ? html`<${NoProcesses} />` : html`<${Wall} processes=${processes} nameOf=${nameOf} />`,
    )}
  `;
}

const NoProcesses = () => html`
  <${Empty} title="No running processes">
    <p>Add a <a href=${linkTo("sources")}>source</a> (a video file, a camera or a drone stream) and start a process on it.</p>
    <${DemoButton} />
  </${Empty}>
`;

/** One process as live video, the others as stills: browsers allow few connections to a service. */
function Wall({ processes, nameOf }: { processes: readonly Process[]; nameOf: NameOf }) {
  const { query } = route.value;
  const large =
    processes.find(({ uuid }) => uuid === query.get("process")) ??
    processes.find(({ source_uuid }) => source_uuid === query.get("source")) ??
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
                <a href=${`${linkTo("live")}?process=${process.uuid}`} aria-label=${`Show ${nameOf(process)} large`}>
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
  const [counts, setCounts] = useState<readonly (readonly [string, number])[]>([]);
  const onDetections = ({ active_tracks }: DetectionMessage): void => setCounts(countClasses(active_tracks));
  return html`
    <section class="card large" aria-label=${nameOf(process)}>
      <${LiveView} processUuid=${process.uuid} note=${noteOf(process)} onDetections=${onDetections} />
      <${Caption} process=${process} nameOf=${nameOf} />
      <p class="counts">${counts.length === 0 ? "No detections" : counts.map(([name, count]) => html`<span key=${name}><strong>${count}</strong> ${name}</span>`)}</p>
    </section>
  `;
}

/** Most frequent first, then by name, so that the order is stable. */
function countClasses(tracks: DetectionMessage["active_tracks"]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { class_name } of tracks) counts.set(class_name, (counts.get(class_name) ?? 0) + 1);
  return [...counts].sort(([a, first], [b, second]) => second - first || a.localeCompare(b));
}

const Caption = ({ process, nameOf }: { process: Process; nameOf: NameOf }) => html`
  <div class="row spread caption">
    <a href=${linkTo("processes", process.uuid)}><strong>${nameOf(process)}</strong></a>
    <span class="row"><span class="hint">${process.graph} · ${process.stats.fps_processed.toFixed(1)} fps</span><${StateMark} process=${process} /></span>
  </div>
`;

/** Stills are fetched one after the other, for the same reason. */
let queue: Promise<unknown> = Promise.resolve();
function fetchQueued(processUuid: string, signal: AbortSignal): Promise<string | null> {
  const fetched = queue.then(() => (signal.aborted ? null : fetchFrame(processUuid, signal).catch(() => null)));
  queue = fetched;
  return fetched;
}

function Still({ processUuid, isRunning }: { processUuid: string; isRunning: boolean }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const closing = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current: string | null = null;
    const replace = (next: string | null): void => {
      if (current !== null) URL.revokeObjectURL(current);
      current = next;
    };
    const update = async (): Promise<void> => {
      const next = document.hidden || !isRunning ? null : await fetchQueued(processUuid, closing.signal);
      if (next !== null) replace(next);
      if (closing.signal.aborted) return replace(null);
      if (next !== null) setUrl(next);
      timer = setTimeout(update, STILL_MS);
    };
    void update();
    return () => {
      closing.abort();
      clearTimeout(timer);
      replace(null);
    };
  }, [processUuid, isRunning]);
  return url === null
    ? html`<div class="still" role="img" aria-label="No frame yet"></div>`
    : html`<img class="still" src=${url} alt="Latest frame" />`;
}
