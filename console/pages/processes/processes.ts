import { useState } from "preact/hooks";
import type { Process } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { DemoButton } from "../../parts/demo-button.ts";
import { formatTime } from "../../parts/format.ts";
import { More, useListing } from "../../parts/listing.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { NewProcess } from "./new-process.ts";
import { ProcessPage } from "./process.ts";
import { StateMark } from "./state-mark.ts";

const EVERY_MS = 2_000;

/** `/processes`, `/processes/new` or `/processes/<uuid>`. */
export function Processes() {
  const [, uuid] = place.value.parts;
  if (uuid === "new") return html`<${NewProcess} />`;
  return uuid === undefined ? html`<${ProcessList} />` : html`<${ProcessPage} key=${uuid} uuid=${uuid} />`;
}

function ProcessList() {
  const [state, setState] = useState<"active" | "all">("active");
  const { asked, reload, showMore } = useListing(
    (page, signal) => windhover.listProcesses({ state, ...page }, { signal }),
    [state],
    EVERY_MS,
  );
  return html`
    <div class="row spread"><h1>Processes</h1>
      <div class="row">
        <label class="check"><input type="checkbox" checked=${state === "all"} onChange=${() => setState(state === "all" ? "active" : "all")} /> Ended ones too</label>
        <a class="button primary" href=${addressOf("processes", "new")}>Start a process</a>
      </div>
    </div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ processes, next_cursor: next }: { processes: readonly Process[]; next_cursor?: string }) =>
        processes.length === 0
          ? html`<${Empty} title=${state === "all" ? "Nothing ran yet" : "Nothing runs"}><p>Start a process on a <a href=${addressOf("sources")}>source</a>.</p><${DemoButton} /></${Empty}>`
          : html`<${Table} processes=${processes} /><${More} count=${processes.length} next=${next} onMore=${showMore} />`}
    </${Shown}>
  `;
}

function Table({ processes }: { processes: readonly Process[] }) {
  const nameOf = useSourceNames();
  return html`
    <table class="cards">
      <thead><tr><th>Source</th><th>Graph</th><th>State</th><th>Started</th><th>Frames a second</th></tr></thead>
      <tbody>
        ${processes.map(
          (process) => html`
            <tr key=${process.uuid}>
              <td><a href=${addressOf("processes", process.uuid)}>${nameOf(process)}</a></td>
              <td data-name="Graph">${process.graph}</td>
              <td data-name="State"><${StateMark} process=${process} /></td>
              <td data-name="Started">${formatTime(process.started_at)}</td>
              <td data-name="Frames a second">${process.finished_at === null ? process.stats.fps_processed.toFixed(1) : "—"}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}
