/** A graph as text: what is wrong with it shows at its line as one types, and it can be tried on a source for a minute. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Graph, GraphFault, Source } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Failed, Loading, NotLoaded, Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { keepDraft, readDraft } from "./drafts.ts";
import type { Editor } from "./editor.ts";
import { TryGraph } from "./try-graph.ts";
import { Verdict } from "./verdict.ts";

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

interface Checked {
  readonly text: string;
  readonly faults: readonly GraphFault[];
}

function Desk({ graph, sources }: Known) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [isReady, setReady] = useState(false);
  const [isLost, setLost] = useState(false);
  const [text, setText] = useState(readDraft(graph.name) ?? graph.yaml);
  const settled = useSettled(text, PAUSE_MS);
  const { asked, reload } = useAsked(
    async (signal): Promise<Checked> => ({
      text: settled,
      ...(await windhover.validateGraph({ body: settled }, { signal })),
    }),
    [settled],
  );
  // What was typed since has its own answer coming.
  const faults = asked.state === "known" && asked.value.text === text ? asked.value.faults : null;
  useEffect(() => {
    // Those of a graph that it extends have no line here.
    if (faults !== null) editor.current?.mark(faults.filter(({ file }) => file === null));
  }, [faults, isReady]);
  useEffect(() => {
    import("./editor.ts").then(
      ({ openEditor }) => {
        if (place.current === null) return;
        editor.current = openEditor(place.current, text, (next) => {
          setText(next);
          keepDraft(graph.name, next, graph.yaml);
        });
        setReady(true);
      },
      () => setLost(true),
    );
    return () => editor.current?.close();
  }, [graph]);
  if (isLost) return html`<${NotLoaded} what="The editor" />`;
  return html`
    ${!isReady && html`<${Loading} what="Loading the editor" />`}
    <div ref=${place} class="editor"></div>
    ${text !== graph.yaml && html`<p class="hint">Your changes stay in this tab. <button type="button" class="plain link" onClick=${() => editor.current?.write(graph.yaml)}>Back to ${graph.name} as it is</button></p>`}
    ${asked.state === "failed" ? html`<${Failed} error=${asked.error} onRetry=${reload} />` : html`<${Verdict} faults=${faults} onShow=${(fault: GraphFault) => editor.current?.show(fault.line, fault.column)} />`}
    <${TryGraph} graph=${graph.name} sources=${sources} isSound=${faults?.length === 0} text=${text} />
  `;
}

/** The value, once it has not changed for so long. */
function useSettled(value: string, pauseMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
