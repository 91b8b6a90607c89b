/** Runs what is in the editor on a source for a minute. */
import type { Source } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { Failed } from "../../parts/states.ts";
import { useSubmit } from "../../parts/submit.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";

interface TryNeeds {
  /** Name of the one that it is a copy of. */
  readonly graph: string;
  readonly sources: readonly Source[];
  readonly isSound: boolean;
  readonly text: string;
}

export function TryGraph({ graph, sources, isSound, text }: TryNeeds) {
  const { error, isBusy, submit } = useSubmit(async (form, goOn) => {
    const source_uuid = String(form.get("source"));
    const { process_uuid } = await windhover.tryGraph({ body: { yaml: text, source_uuid } });
    goOn(`${addressOf("processes", process_uuid)}?tried=${encodeURIComponent(graph)}`);
  });
  if (sources.length === 0)
    return html`<p class="hint">To try it, <a href=${addressOf("sources")}>add a source</a>.</p>`;
  return html`
    ${error !== null && html`<${Failed} error=${error} />`}
    <form class="row foot" onSubmit=${submit}>
      <label>Try it on <select name="source">${sources.map((source) => html`<option value=${source.uuid}>${source.alias}</option>`)}</select></label>
      <button class="primary" disabled=${!isSound || isBusy}>${isBusy ? "Starting…" : "Try for a minute"}</button>
    </form>
  `;
}
