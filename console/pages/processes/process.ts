/** One process: what it sees, how it gets on, and where that goes; or what is left of it. */
import { useState } from "preact/hooks";
import type { AlertEvent, Process, StatsEvent } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { LiveView } from "../../live/live-view.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Notice } from "../alerts/notices.ts";
import { Facts } from "./facts.ts";
import { Outputs } from "./outputs.ts";
import { Remains } from "./remains.ts";
import { isActive, StateMark } from "./state-mark.ts";

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
        ${isActive(process) ? html`<${Running} process=${process} onChange=${reload} />` : html`<${Ended} process=${process} />`}
      `}
    </${Shown}>
  `;
}

interface Parts {
  readonly process: Process;
  readonly onChange: () => void;
}

function Title({ process, onChange }: Parts) {
  const nameOf = useSourceNames();
  const [isBusy, setBusy] = useState(false);
  const { uuid: process_uuid, state } = process;
  const order = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    setBusy(true);
    await attempt(work, done);
    onChange();
    setBusy(false);
  };
  const button = (words: string, kind: string, work: () => Promise<unknown>, done: string) =>
    html`<button type="button" class=${kind} disabled=${isBusy} onClick=${() => void order(work, done)}>${words}</button>`;
  return html`
    <div class="row spread">
      <h1>${nameOf(process)} <${StateMark} process=${process} /></h1>
      <div class="row">
        ${state === "running" && button("Pause", "", () => windhover.pauseProcess({ process_uuid }), "Paused")}
        ${state === "paused" && button("Resume", "primary", () => windhover.resumeProcess({ process_uuid }), "Goes on")}
        ${isActive(process) && button("Stop", "danger", () => windhover.stopProcess({ process_uuid }), "Stopped")}
      </div>
    </div>
  `;
}

/** Why there is no new picture, where its state tells. */
function noteOf({ state, reconnecting }: Process): string | null {
  if (state === "paused") return "Paused. The picture goes on when it is resumed.";
  if (state === "starting") return "Starting…";
  if (state === "stopping") return "Stopping…";
  return reconnecting ? "The source is away; it is tried again." : null;
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
      <${LiveView} processUuid=${process.uuid} note=${noteOf(process)} news=${news} />
      <aside class="stack" aria-label="About it">
        <${Facts} process=${process} stats=${stats} />
        <${Outputs} process=${process} onChange=${onChange} />
        ${
          notices.length > 0 &&
          html`<section aria-label="Notices" aria-live="polite"><h2>Notices</h2>
            <ul class="plain-list">${notices.map((notice) => html`<${Notice} key=${notice.id} notice=${notice} />`)}</ul>
          </section>`
        }
      </aside>
    </div>
  `;
}

const Ended = ({ process }: { process: Process }) => html`
  <div class="process">
    <${Remains} process=${process} />
    <aside class="stack" aria-label="About it"><${Facts} process=${process} stats=${process.stats} /></aside>
  </div>
`;
