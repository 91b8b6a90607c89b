/** Edits a graph or a copy: errors show at their lines while the user types; the text can be stored, and tried on a source. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Graph, GraphFault, Source } from "../../../client/client.ts";
import { Select, useSubmit } from "../../components/form.ts";
import { formatCount } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Failed, Loading, NotLoaded } from "../../components/states.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";
import type { Editor, Mark } from "./editor.ts";
import { readGraphName } from "./graph-name.ts";
import { RunTests, type Tested } from "./run-tests.ts";
import { ServiceNames } from "./service-names.ts";

/** The text is validated this long after the last change. */
const PAUSE_MS = 300;

interface Subject {
  readonly graph: Graph;
  readonly sources: readonly Source[];
}

export function GraphEditor({ name }: { name: string }) {
  const query = useQuery(
    async (signal): Promise<Subject> => {
      const [graph, { sources }] = await Promise.all([
        windhover.getGraph({ name }, { signal }),
        windhover.listSources({}, { signal }),
      ]);
      return { graph, sources };
    },
    [name],
  );
  return html`
    <nav aria-label="Breadcrumbs" class="crumbs"><a href=${linkTo("graphs")}>Graphs</a> / <a href=${linkTo("graphs", name)}>${name}</a></nav>
    <h1>${query.value?.graph.origin === "own" ? `Edit ${name}` : `Edit a copy of ${name}`}</h1>
    ${whenLoaded(query, (subject) => html`<${Workspace} ...${subject} />`)}
  `;
}

/** Unfinished changes stay in the tab until it is closed. */
const draftName = (graph: string): string => `windhover-draft-${graph}`;

function saveDraft({ name }: Graph, text: string, isStored: boolean): void {
  if (isStored) sessionStorage.removeItem(draftName(name));
  else sessionStorage.setItem(draftName(name), text);
}

/** A text that was saved on this page, and its name. */
interface Stored {
  readonly name: string;
  readonly text: string;
}

function Workspace({ graph, sources }: Subject) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [isReady, setReady] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const [tested, setTested] = useState<Tested | null>(null);
  const [stored, setStored] = useState<Stored | null>(null);
  const [text, setText] = useState(sessionStorage.getItem(draftName(graph.name)) ?? graph.yaml);
  const settled = useSettled(text, PAUSE_MS);
  const validation = useQuery(
    async (signal) => ({ text: settled, ...(await windhover.validateGraph({ body: settled }, { signal })) }),
    [settled],
  );
  const { value, error } = validation;
  // Null while the text has changed since it was validated.
  const faults = error === null && value?.text === text ? value.faults : null;
  // Of the text that was tested.
  const failures = tested?.text === text ? tested.failures : null;
  useEffect(() => {
    const wrong = faults?.flatMap((fault) => placeHere(fault) ?? []) ?? null;
    if (wrong !== null) editor.current?.mark([...wrong, ...(failures ?? [])]);
  }, [faults, failures, isReady]);
  useEffect(() => {
    import("./editor.ts").then(
      ({ openEditor }) => {
        if (parent.current === null) return;
        editor.current = openEditor(parent.current, { text, known: new ServiceNames(graph), onChange: setText });
        setReady(true);
      },
      () => setFailed(true),
    );
    return () => editor.current?.close();
  }, [graph]);
  const current = stored?.name === graph.name ? stored.text : graph.yaml;
  const isStored = text === current || text === stored?.text;
  useEffect(() => saveDraft(graph, text, isStored), [graph, text, isStored]);
  if (hasFailed) return html`<${NotLoaded} what="The editor" />`;
  return html`
    ${!isReady && html`<${Loading} what="Loading the editor" />`}
    <div ref=${parent} class="editor"></div>
    ${stored !== null && text === stored.text && html`<p class="hint">Saved as <a href=${linkTo("graphs", stored.name)}>${stored.name}</a>.</p>`}
    ${!isStored && html`<p class="hint">Your changes stay in this tab. <button type="button" class="plain link" onClick=${() => editor.current?.write(current)}>Discard changes</button></p>`}
    ${error !== null ? html`<${Failed} error=${error} onRetry=${validation.reload} />` : html`<${Faults} faults=${faults} onShow=${({ line, column }: GraphFault) => editor.current?.show(line, column)} />`}
    <${RunTests} graph=${graph} isValid=${faults?.length === 0} text=${text} stored=${stored} onStored=${setStored} onTested=${setTested} onShow=${({ line, column }: Mark) => editor.current?.show(line, column)} />
    <${SaveGraph} graph=${graph} isValid=${faults?.length === 0} text=${text} />
    <${TryGraph} graph=${graph.name} sources=${sources} isValid=${faults?.length === 0} text=${text} />
  `;
}

/** Errors in a graph that this one extends have no line here; those in a part of another file have that of its use. */
function placeHere(fault: GraphFault): GraphFault | null {
  if (fault.file === null) return fault;
  return fault.used_at?.file === null ? { ...fault, ...fault.used_at } : null;
}

/** The value once it has not changed for `pauseMs`. */
function useSettled(value: string, pauseMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface FaultsProps {
  /** Null: not validated yet. */
  readonly faults: readonly GraphFault[] | null;
  onShow(fault: GraphFault): void;
}

const Faults = ({ faults, onShow }: FaultsProps) => {
  if (faults === null) return html`<p role="status" class="hint">Validating…</p>`;
  if (faults.length === 0) return html`<p role="status">No errors.</p>`;
  return html`
    <p role="status">${formatCount(faults.length, "error")} to fix:</p>
    <ol class="faults">${faults.map(
      (fault) => html`<li><${FaultPlace} fault=${fault} onShow=${onShow} /> ${fault.message}${suggestFix(fault)}</li>`,
    )}</ol>
  `;
};

function FaultPlace({ fault, onShow }: { fault: GraphFault; onShow: FaultsProps["onShow"] }) {
  const here = placeHere(fault);
  const link =
    here !== null &&
    html`<button type="button" class="plain link" onClick=${() => onShow(here)}>Line ${here.line}</button>`;
  if (fault.file === null) return link;
  return html`${link} <strong>${fault.file}, line ${fault.line}</strong>`;
}

function suggestFix({ suggestion, expected }: GraphFault): string {
  if (suggestion !== undefined) return `; did you mean ${suggestion}?`;
  return expected === undefined ? "" : `; expected ${expected}`;
}

interface SaveProps {
  /** That the text is a copy of, or a change to. */
  readonly graph: Graph;
  readonly isValid: boolean;
  readonly text: string;
}

/** Under the name in the text. */
function SaveGraph({ graph, isValid, text }: SaveProps) {
  const name = readGraphName(text);
  const { error, isBusy, submit } = useSubmit(async (_, navigate) => {
    await windhover.storeGraph({ name: name ?? "", body: text });
    sessionStorage.removeItem(draftName(graph.name));
    navigate(linkTo("graphs", name ?? ""));
  });
  const isInstalled = name === graph.name && graph.origin === "installed";
  return html`
    ${error !== null && html`<${Failed} error=${error} />`}
    <form class="row foot" onSubmit=${submit}>
      <button disabled=${!isValid || isBusy || name === null || isInstalled}>${isBusy ? "Saving…" : `Save as ${name ?? "a graph"}`}</button>
      ${isInstalled && html`<p class="hint">To save a graph of your own, give it another name in the line <code>graph: ${name}</code>.</p>`}
    </form>
  `;
}

interface TryProps extends Pick<Subject, "sources"> {
  /** Name of the graph that the text is a copy of. */
  readonly graph: string;
  readonly isValid: boolean;
  readonly text: string;
}

function TryGraph({ graph, sources, isValid, text }: TryProps) {
  const { error, isBusy, submit } = useSubmit(async (form, navigate) => {
    const source_uuid = String(form.get("source"));
    const { process_uuid } = await windhover.tryGraph({ body: { yaml: text, source_uuid } });
    navigate(`${linkTo("processes", process_uuid)}?tried=${encodeURIComponent(graph)}`);
  });
  if (sources.length === 0) return html`<p class="hint">To try it, <a href=${linkTo("sources")}>add a source</a>.</p>`;
  return html`
    ${error !== null && html`<${Failed} error=${error} />`}
    <form class="row foot" onSubmit=${submit}>
      <${Select} label="Try it on" name="source" options=${sources.map(({ uuid, alias }) => [uuid, alias])} />
      <button class="primary" disabled=${!isValid || isBusy}>${isBusy ? "Starting…" : "Try for a minute"}</button>
    </form>
  `;
}
