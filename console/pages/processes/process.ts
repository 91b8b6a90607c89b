/** One process: what it sees, how it gets on, and where that goes; or what is left of it. */
import { useState } from "preact/hooks";
import type { AlertEvent, Process, StatsEvent } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { formatTime } from "../../parts/format.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf, focusContent } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Notice } from "../alerts/notices.ts";
import { RunningPipeline } from "../graphs/running-pipeline.ts";
import { Facts } from "./facts.ts";
import { Outputs } from "./outputs.ts";
import { Remains } from "./remains.ts";
import { isActive, noteOf, StateMark } from "./state-mark.ts";

const EVERY_MS = 3_000;
const MOST_NOTICES = 20;

export function ProcessPage({ uuid }: { uuid: string }) {
  const { asked, reload } = useAsked(
    (signal) => windhover.readProcess({ process_uuid: uuid }, { signal }),
    [uuid],
    EVERY_MS,
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("processes")}>Processes</a></nav>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(process: Process) => html`
        <${Title} process=${process} onChange=${reload} />
        ${process.error !== null && html`<p class="failed" role="alert"><strong>${process.error.code}</strong> ${process.error.detail}</p>`}
        ${process.last_error !== null && html`<${Crash} process=${process} crash=${process.last_error} />`}
        ${isActive(process) ? html`<${Running} process=${process} onChange=${reload} />` : html`<${Ended} process=${process} />`}
      `}
    </${Shown}>
  `;
}

/** Also after it has recovered, and when it has ended: what came of it is not all that there was. */
const Crash = ({ process, crash }: { process: Process; crash: NonNullable<Process["last_error"]> }) => html`
  <section class=${process.restarting ? "failed" : "card"} aria-label="Last crash">
    <p><strong>${process.restarting ? "Restarting after a crash" : "Crashed"}</strong> ${formatTime(crash.at)}, ${process.stats.restarts} ${process.stats.restarts === 1 ? "restart" : "restarts"}: ${crash.detail}</p>
    ${crash.trace !== undefined && crash.trace.length > 0 && html`<details><summary>Stack</summary><pre>${crash.trace.join("\n")}</pre></details>`}
  </section>
`;

interface Parts {
  readonly process: Process;
  readonly onChange: () => void;
}

function Title({ process, onChange }: Parts) {
  const nameOf = useSourceNames();
  const [isBusy, setBusy] = useState(false);
  const { uuid: process_uuid, state } = process;
  const order = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await attempt(work, done);
    onChange();
    setBusy(false);
  };
  const pause = () => order(() => windhover.pauseProcess({ process_uuid }), "Paused");
  const resume = () => order(() => windhover.resumeProcess({ process_uuid }), "Goes on");
  const stop = () => order(() => windhover.stopProcess({ process_uuid }), "Stopped").then(focusContent);
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

function Running({ process, onChange }: Parts) {
  const [stats, setStats] = useState<StatsEvent["stats"]>(process.stats);
  const [notices, setNotices] = useState<readonly AlertEvent[]>([]);
  const news = {
    onStats: (event: StatsEvent) => setStats(event.stats),
    onState: onChange,
    onAlert: (notice: AlertEvent) => setNotices((before) => [notice, ...before].slice(0, MOST_NOTICES)),
  };
  return html`
    <div class="process">
      <div class="stack">
        <${LiveView} processUuid=${process.uuid} note=${noteOf(process)} news=${news} />
        <${Pipeline} uuid=${process.uuid} />
      </div>
      <aside class="stack" aria-label="About it">
        <${Facts} process=${process} stats=${stats} />
        <${Outputs} process=${process} onChange=${onChange} />
        ${
          notices.length > 0 &&
          html`<section aria-label="Notices" aria-live="polite"><h2>Notices</h2>
            <ul class="notices">${notices.map((notice) => html`<${Notice} key=${notice.id} notice=${notice} />`)}</ul>
          </section>`
        }
      </aside>
    </div>
  `;
}

/** Drawn, and asked for, only while somebody looks. */
function Pipeline({ uuid }: { uuid: string }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <details onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Pipeline</summary>${isOpen && html`<${RunningPipeline} uuid=${uuid} />`}
    </details>
  `;
}

const Ended = ({ process }: { process: Process }) => html`
  <div class="process">
    <${Remains} process=${process} />
    <aside class="stack" aria-label="About it"><${Facts} process=${process} stats=${process.stats} /></aside>
  </div>
`;
