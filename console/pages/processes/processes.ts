import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { formatTime } from "../../parts/format.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 2_000;

export function Processes() {
  const { asked, reload } = useAsked((signal) => windhover.listProcesses({}, { signal }), [], EVERY_MS);
  return html`
    <h1>Processes</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ processes }: Awaited<ReturnType<typeof windhover.listProcesses>>) =>
        processes.length === 0
          ? html`<${Empty} title="Nothing runs"><p>Start a process on a <a href=${addressOf("sources")}>source</a>.</p></${Empty}>`
          : html`
              <table>
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
