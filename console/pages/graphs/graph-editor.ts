/** A graph as text: what is wrong with it shows at its line as one types, and it can be tried on a source for a minute. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError, Graph, GraphFault, Source } from "../../../client/client.ts";
import { toApiError, useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Failed, Loading, Shown } from "../../parts/states.ts";
import { addressOf, go } from "../../router.ts";
import { windhover } from "../../session.ts";
import type { Editor } from "./editor.ts";

/** So long after the last key it is checked. */
const PAUSE_MS = 300;

interface Known {
  readonly graph: Graph;
  readonly sources: readonly Source[];
}

export function GraphEditor({ name }: { name: string }) {
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const [graph, { sources }] = await Promise.all([
        windhover.getGraph({ name }, { signal }),
        windhover.listSources({}, { signal }),
      ]);
      return { graph, sources };
    },
    [name],
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("graphs")}>Graphs</a> / <a href=${addressOf("graphs", name)}>${name}</a></nav>
    <h1>Edit a copy of ${name}</h1>
    <${Shown} asked=${asked} onRetry=${reload}>${(known: Known) => html`<${Desk} ...${known} />`}</${Shown}>
  `;
}

function Desk({ graph, sources }: Known) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [faults, setFaults] = useState<readonly GraphFault[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let latest = 0;
    const check = async (text: string): Promise<void> => {
      const number = ++latest;
      try {
        const { faults: found } = await windhover.validateGraph({ body: text });
        // What was typed since has its own answer coming.
        if (number !== latest) return;
        setFaults(found);
        // Those of a graph that it extends have no line here.
        editor.current?.mark(found.filter(({ file }) => file === null));
        setError(null);
      } catch (fault) {
        if (number === latest) setError(toApiError(fault));
      }
    };
    const onChange = (text: string): void => {
      setFaults(null);
      clearTimeout(timer);
      timer = setTimeout(() => void check(text), PAUSE_MS);
    };
    import("./editor.ts").then(({ openEditor }) => {
      if (place.current === null) return;
      editor.current = openEditor(place.current, graph.yaml, onChange);
      setReady(true);
      void check(graph.yaml);
    });
    return () => {
      clearTimeout(timer);
      editor.current?.close();
    };
  }, [graph]);
  return html`
    ${!isReady && html`<${Loading} what="Loading the editor" />`}
    <div ref=${place} class="editor"></div>
    <${Verdict} faults=${faults} onShow=${(fault: GraphFault) => editor.current?.show(fault.line, fault.column)} />
    ${error !== null && html`<${Failed} error=${error} />`}
    <${Try} sources=${sources} isSound=${faults?.length === 0} read=${() => editor.current?.text ?? ""} onError=${setError} />
  `;
}

interface VerdictNeeds {
  /** Null: it is being looked at. */
  readonly faults: readonly GraphFault[] | null;
  readonly onShow: (fault: GraphFault) => void;
}

const Verdict = ({ faults, onShow }: VerdictNeeds) => {
  if (faults === null) return html`<p role="status" class="hint">Checking…</p>`;
  if (faults.length === 0) return html`<p role="status">Nothing is wrong with it.</p>`;
  return html`
    <p role="status">${faults.length === 1 ? "One fault" : `${faults.length} faults`} to mend:</p>
    <ol class="faults">${faults.map(
      (fault) => html`<li>
        ${fault.file === null ? html`<button type="button" class="plain link" onClick=${() => onShow(fault)}>Line ${fault.line}</button>` : html`<strong>${fault.file}, line ${fault.line}</strong>`}
        ${fault.message}${mendingOf(fault)}
      </li>`,
    )}</ol>
  `;
};

function mendingOf({ suggestion, expected }: GraphFault): string {
  if (suggestion !== undefined) return `; did you mean ${suggestion}?`;
  return expected === undefined ? "" : `; expected ${expected}`;
}

interface TryParts {
  readonly sources: readonly Source[];
  readonly isSound: boolean;
  read(): string;
  onError(error: ApiError): void;
}

function Try({ sources, isSound, read, onError }: TryParts) {
  const [isBusy, setBusy] = useState(false);
  const attempt = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const source_uuid = String(new FormData(event.currentTarget as HTMLFormElement).get("source"));
    setBusy(true);
    try {
      const { process_uuid } = await windhover.tryGraph({ body: { yaml: read(), source_uuid } });
      go(addressOf("processes", process_uuid));
    } catch (fault) {
      onError(toApiError(fault));
      setBusy(false);
    }
  };
  if (sources.length === 0)
    return html`<p class="hint">To try it, <a href=${addressOf("sources")}>add a source</a>.</p>`;
  return html`
    <form class="row foot" onSubmit=${attempt}>
      <label>Try it on <select name="source">${sources.map((source) => html`<option value=${source.uuid}>${source.alias}</option>`)}</select></label>
      <button class="primary" disabled=${!isSound || isBusy}>${isBusy ? "Starting…" : "Try for a minute"}</button>
    </form>
  `;
}
