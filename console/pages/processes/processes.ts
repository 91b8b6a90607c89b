import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { DemoButton } from "../../parts/demo-button.ts";
import { formatTime } from "../../parts/format.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { NewProcess } from "./new-process.ts";
import { ProcessPage } from "./process.ts";

const EVERY_MS = 2_000;

/** `/processes`, `/processes/new` or `/processes/<uuid>`. */
export function Processes() {
  const [, uuid] = place.value.parts;
  if (uuid === "new") return html`<${NewProcess} />`;
  return uuid === undefined ? html`<${ProcessList} />` : html`<${ProcessPage} key=${uuid} uuid=${uuid} />`;
}

function ProcessList() {
  const { asked, reload } = useAsked((signal) => windhover.listProcesses({}, { signal }), [], EVERY_MS);
  return html`
    <div class="row spread"><h1>Processes</h1><a class="button primary" href=${addressOf("processes", "new")}>Start a process</a></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ processes }: Awaited<ReturnType<typeof windhover.listProcesses>>) =>
        processes.length === 0
          ? html`<${Empty} title="Nothing runs"><p>Start a process on a <a href=${addressOf("sources")}>source</a>.</p><${DemoButton} /></${Empty}>`
          : html`
              <table class="cards">
                <thead><tr><th>Source</th><th>Graph</th><th>State</th><th>Since</th><th>Frames a second</th></tr></thead>
                <tbody>
                  ${processes.map(
                    (process) => html`
                      <tr key=${process.uuid}>
                        <td><a href=${addressOf("processes", process.uuid)}>${process.source_url}</a></td>
                        <td>${process.graph}</td>
                        <td><span class="state ${process.state}">${process.state}</span></td>
                        <td>${formatTime(process.started_at)}</td>
                        <td>${process.stats.fps_processed.toFixed(1)}</td>
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            `}
    </${Shown}>
  `;
}
