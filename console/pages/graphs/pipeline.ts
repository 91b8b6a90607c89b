/** A pipeline: one row per chain, one box per step, with the load of each step while it runs. */
import type { Output, ProcessGraph } from "../../../client/client.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";
import { nameChain } from "./chain-names.ts";

const POLL_MS = 1_000;

export function RunningPipeline({ uuid }: { uuid: string }) {
  const query = useQuery(
    (signal) => windhover.getProcessGraph({ process_uuid: uuid, format: "json" }, { signal }),
    [uuid],
    POLL_MS,
  );
  if (query.error?.code === "wrong_state") return html`<p class="hint" role="status">The process has ended.</p>`;
  return whenLoaded(query, ({ segments }) => html`<${NamedPipeline} segments=${segments} />`);
}

/** Fetches the outputs again when others are attached. */
function NamedPipeline({ segments }: Pick<ProcessGraph, "segments">) {
  const chains = segments.map(({ name }) => name).join(" ");
  const { value } = useQuery((signal) => windhover.listOutputs({}, { signal }), [chains]);
  return html`<${Pipeline} segments=${segments} outputs=${value?.outputs ?? []} />`;
}

type RunningSegment = ProcessGraph["segments"][number];
type StepStats = RunningSegment["steps"][number];
/** A compiled graph has no statistics. */
type Segment = Omit<RunningSegment, "steps"> & Partial<Pick<RunningSegment, "steps">>;

interface PipelineProps {
  readonly segments: readonly Segment[];
  /** Attached chains have the names of their outputs. */
  readonly outputs: readonly Output[];
}

export const Pipeline = ({ segments, outputs }: PipelineProps) => html`
  <section class="card" aria-label="Pipeline">
    ${segments.map((segment) => html`<${Chain} key=${segment.name} segment=${segment} outputs=${outputs} />`)}
  </section>
`;

const Chain = ({ segment, outputs }: { segment: Segment; outputs: readonly Output[] }) => {
  const { title, nameStep } = nameChain(segment.name, outputs);
  return html`
    <div class="chain">
      <h2>${title}${segment.tee !== null && html` <span class="hint">from ${segment.tee}</span>`}</h2>
      <ol aria-label=${title}>${stepsOf(segment).map((box) => html`<${StepBox} key=${box.step} ...${box} name=${nameStep(box.step)} />`)}</ol>
    </div>
  `;
};

interface Step {
  readonly step: string;
  readonly factories: string;
  readonly kind: string;
  readonly stats: StepStats | undefined;
}

/** A step may consist of several nodes, one after the other. */
function stepsOf({ nodes, steps = [] }: Segment): readonly Step[] {
  const names = [...new Set(nodes.map((node) => node.step))];
  return names.map((step) => {
    const own = nodes.filter((node) => node.step === step);
    return {
      step,
      factories: own.map((node) => node.factory).join(" ! "),
      kind: own.some((node) => node.kind === "typescript") ? "typescript" : "native",
      stats: steps.find((one) => one.step === step),
    };
  });
}

const StepBox = ({ name, factories, kind, stats }: Step & { name: string }) => html`
  <li class="step ${kind}" title=${factories}>
    <strong>${name}</strong>
    ${stats !== undefined && html`<${Stats} name=${name} stats=${stats} />`}
  </li>
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
