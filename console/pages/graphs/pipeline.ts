/** A pipeline: one row per chain, one box per step, with the load of each step while it runs, and the edges to look into. */
import { useState } from "preact/hooks";
import type { Output, ProcessGraph } from "../../../client/client.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";
import { nameChain } from "./chain-names.ts";
import { type Edge, EdgeView } from "./edge-view.ts";

const POLL_MS = 1_000;

export function RunningPipeline({ uuid }: { uuid: string }) {
  const [edge, setEdge] = useState<Edge | null>(null);
  const query = useQuery(
    (signal) => windhover.getProcessGraph({ process_uuid: uuid, format: "json" }, { signal }),
    [uuid],
    POLL_MS,
  );
  if (query.error?.code === "wrong_state") return html`<p class="hint" role="status">The process has ended.</p>`;
  return whenLoaded(
    query,
    ({ segments }) =>
      html`<${NamedPipeline} segments=${segments} onEdge=${setEdge} />${edge !== null && html`<${EdgeView} key=${`${edge.from} ${edge.to}`} uuid=${uuid} edge=${edge} onClose=${() => setEdge(null)} />`}`,
  );
}

/** Fetches the outputs again when others are attached. */
function NamedPipeline({ segments, onEdge }: Pick<ProcessGraph, "segments"> & { onEdge(edge: Edge): void }) {
  const chains = segments.map(({ name }) => name).join(" ");
  const { value } = useQuery((signal) => windhover.listOutputs({}, { signal }), [chains]);
  return html`<${Pipeline} segments=${segments} outputs=${value?.outputs ?? []} onEdge=${onEdge} />`;
}

type RunningSegment = ProcessGraph["segments"][number];
type StepStats = RunningSegment["steps"][number];
/** A compiled graph has no statistics. */
type Segment = Omit<RunningSegment, "steps"> & Partial<Pick<RunningSegment, "steps">>;

interface PipelineProps {
  readonly segments: readonly Segment[];
  /** Attached chains have the names of their outputs. */
  readonly outputs: readonly Output[];
  /** Absent: it does not run, and its edges have nothing to show. */
  readonly onEdge?: (edge: Edge) => void;
}

export const Pipeline = ({ segments, outputs, onEdge }: PipelineProps) => html`
  <section class="card" aria-label="Pipeline">
    ${segments.map((segment) => html`<${Chain} key=${segment.name} segment=${segment} outputs=${outputs} onEdge=${onEdge} />`)}
  </section>
`;

const Chain = ({ segment, outputs, onEdge }: Omit<PipelineProps, "segments"> & { segment: Segment }) => {
  const { title, nameStep } = nameChain(segment.name, outputs);
  return html`
    <div class="chain">
      <h2>${title}${segment.tee !== null && html` <span class="hint">from ${segment.tee}</span>`}</h2>
      <ol aria-label=${title}>${stepsOf(segment).map((box) => html`<${StepBox} key=${box.step} ...${box} name=${nameStep(box.step)} nameStep=${nameStep} onEdge=${onEdge} />`)}</ol>
    </div>
  `;
};

interface Step {
  readonly step: string;
  readonly factories: string;
  readonly kind: string;
  readonly stats: StepStats | undefined;
  /** The links that lead to it, with the step before. */
  readonly entries: readonly (Edge & { readonly before: string })[];
}

/** A step may consist of several nodes, one after the other. */
function stepsOf({ nodes, links, steps = [] }: Segment): readonly Step[] {
  const stepOf = new Map(nodes.map(({ name, step }) => [name, step]));
  const names = [...new Set(nodes.map((node) => node.step))];
  return names.map((step) => {
    const own = nodes.filter((node) => node.step === step);
    return {
      step,
      factories: own.map((node) => node.factory).join(" ! "),
      kind: own.some((node) => node.kind === "typescript") ? "typescript" : "native",
      stats: steps.find((one) => one.step === step),
      entries: links
        .filter(({ from, to }) => stepOf.get(to) === step && stepOf.get(from) !== step)
        .map(({ from, to }) => ({ from, to, before: stepOf.get(from) ?? from })),
    };
  });
}

interface StepProps extends Step, Pick<PipelineProps, "onEdge"> {
  readonly name: string;
  nameStep(step: string): string;
}

const StepBox = ({ name, factories, kind, stats, entries, nameStep, onEdge }: StepProps) => html`
  <li class="step ${kind}" title=${factories}>
    ${onEdge !== undefined && entries.length > 0 && html`<span class="edges">${entries.map((entry) => html`<${EdgeButton} key=${entry.from} label=${`Look between ${nameStep(entry.before)} and ${name}`} onClick=${() => onEdge(entry)} />`)}</span>`}
    <strong>${name}</strong>
    ${stats !== undefined && html`<${Stats} name=${name} stats=${stats} />`}
  </li>
`;

const EdgeButton = ({ label, onClick }: { label: string; onClick(): void }) => html`
  <button type="button" class="plain" aria-label=${label} title=${label} onClick=${onClick}>→</button>
`;

const Stats = ({ name, stats: { fps, mean_ms, queued, capacity, dropped } }: { name: string; stats: StepStats }) => {
  // Of one core. Near 1, the step is the bottleneck of the pipeline.
  const load = Math.min(1, (fps * mean_ms) / 1000);
  return html`
    <span>${fps.toFixed(0)} fps · ${mean_ms.toFixed(1)} ms</span>
    <meter min="0" max="1" low="0.6" high="0.85" optimum="0" value=${load} aria-label=${`Load of ${name}`}>${Math.round(load * 100)} %</meter>
    ${capacity !== null && html`<span>${queued ?? 0} of ${capacity} queued${dropped ? ` · ${dropped} dropped` : ""}</span>`}
  `;
};
