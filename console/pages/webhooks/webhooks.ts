/** Calls to addresses of one's own, by process. */
import { useState } from "preact/hooks";
import type { Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Subscribe } from "./subscribe.ts";
import { type Listed, SubscriptionTable } from "./subscription-table.ts";

const EVERY_MS = 2_000;

interface Group {
  readonly process: Process;
  readonly subscriptions: readonly Listed[];
}

export function Webhooks() {
  const { asked, reload } = useAsked(
    async (signal): Promise<readonly Group[]> => {
      const { processes } = await windhover.listProcesses({}, { signal });
      return Promise.all(
        processes.map(async (process) => ({
          process,
          ...(await windhover.listSubscriptions({ process_uuid: process.uuid }, { signal })),
        })),
      );
    },
    [],
    EVERY_MS,
  );
  const nameOf = useSourceNames();
  const [adding, setAdding] = useState<Process | null>(null);
  return html`
    <h1>Webhooks</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(groups: readonly Group[]) =>
        groups.length === 0
          ? html`<${Empty} title="No process runs"><p>Webhooks belong to a process: <a href=${addressOf("processes", "new")}>start one</a>.</p></${Empty}>`
          : groups.map(
              ({ process, subscriptions }) => html`
                <section key=${process.uuid} class="stack gap">
                  <div class="row spread">
                    <h2><a href=${addressOf("processes", process.uuid)}>${nameOf(process)}</a></h2>
                    <button type="button" aria-label=${`Subscribe to ${nameOf(process)}`} onClick=${() => setAdding(process)}>Subscribe</button>
                  </div>
                  ${subscriptions.length === 0 ? html`<p class="hint">Nobody is called yet. A subscription calls a web address when something new is seen, or when the number of targets changes.</p>` : html`<${SubscriptionTable} subscriptions=${subscriptions} onChange=${reload} />`}
                </section>
              `,
            )}
    </${Shown}>
    ${adding !== null && html`<${Subscribe} process=${adding} name=${nameOf(adding)} onClose=${() => setAdding(null)} onDone=${reload} />`}
  `;
}
