/** Runs what is in the editor on a source for a minute. */
import { useState } from "preact/hooks";
import type { ApiError, Source } from "../../../client/client.ts";
import { toApiError } from "../../asker.ts";
import { html } from "../../html.ts";
import { Failed } from "../../parts/states.ts";
import { addressOf, goFrom, place } from "../../router.ts";
import { windhover } from "../../session.ts";

interface TryNeeds {
  /** Name of the one that it is a copy of. */
  readonly graph: string;
  readonly sources: readonly Source[];
  readonly isSound: boolean;
  readonly text: string;
}

export function TryGraph({ graph, sources, isSound, text }: TryNeeds) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const start = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const source_uuid = String(new FormData(event.currentTarget as HTMLFormElement).get("source"));
    setBusy(true);
    setError(null);
    const { value: here } = place;
    try {
      const { process_uuid } = await windhover.tryGraph({ body: { yaml: text, source_uuid } });
      goFrom(here, `${addressOf("processes", process_uuid)}?tried=${encodeURIComponent(graph)}`);
    } catch (fault) {
      setError(toApiError(fault));
      setBusy(false);
    }
  };
  if (sources.length === 0)
    return html`<p class="hint">To try it, <a href=${addressOf("sources")}>add a source</a>.</p>`;
  return html`
    ${error !== null && html`<${Failed} error=${error} />`}
    <form class="row foot" onSubmit=${start}>
      <label>Try it on <select name="source">${sources.map((source) => html`<option value=${source.uuid}>${source.alias}</option>`)}</select></label>
      <button class="primary" disabled=${!isSound || isBusy}>${isBusy ? "Starting…" : "Try for a minute"}</button>
    </form>
  `;
}
