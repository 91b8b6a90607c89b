/** A pipeline: one row a chain, one box a step, with how busy it is while it runs. */
import { html } from "../../html.ts";

interface Step {
  readonly step: string;
  readonly fps: number;
  readonly mean_ms: number;
  readonly queued: number | null;
  readonly capacity: number | null;
  readonly dropped: number | null;
}

interface Segment {
  readonly name: string;
  readonly tee: string | null;
  readonly nodes: readonly {
    readonly step: string;
    readonly element: string;
    readonly kind: string;
    readonly factory: string;
  }[];
  readonly steps?: readonly Step[];
}

/** Share of one processor that a step takes, from 0 to 1; the rest of a pipeline waits for it when it nears 1. */
const loadOf = (step: Step | undefined): number | null =>
  step === undefined ? null : Math.min(1, (step.fps * step.mean_ms) / 1000);

export const PipelinePicture = ({ segments }: { segments: readonly Segment[] }) => html`
  <section class="card" aria-label="Pipeline">
    ${segments.map(
      (segment) => html`
        <div key=${segment.name} class="chain">
          <h2>${segment.name}${segment.tee !== null && html` <span class="hint">from ${segment.tee}</span>`}</h2>
          <ol>${stepsOf(segment).map(({ step, element, kind, told }) => html`<${StepBox} key=${step} ...${{ step, element, kind, told }} />`)}</ol>
        </div>
      `,
    )}
  </section>
`;

/** Nodes of one step come one after the other and are shown as one. */
function stepsOf({ nodes, steps = [] }: Segment) {
  const names = [...new Set(nodes.map((node) => node.step))];
  return names.map((step) => {
    const own = nodes.filter((node) => node.step === step);
    const isOurs = own.some((node) => node.kind === "typescript");
    return {
      step,
      element: own.map((node) => node.factory).join(" ! "),
      kind: isOurs ? "typescript" : "native",
      told: steps.find((one) => one.step === step),
    };
  });
}

const StepBox = ({ step, element, kind, told }: { step: string; element: string; kind: string; told?: Step }) => {
  const load = loadOf(told);
  return html`
    <li class="step ${kind}" title=${element}>
      <strong>${step}</strong>
      ${told !== undefined && html`<span>${told.fps.toFixed(0)} fps · ${told.mean_ms.toFixed(1)} ms</span>`}
      ${load !== null && html`<meter min="0" max="1" low="0.6" high="0.85" optimum="0" value=${load} aria-label=${`Load of ${step}`}>${Math.round(load * 100)} %</meter>`}
      ${told?.capacity != null && html`<span>${told.queued ?? 0} of ${told.capacity} wait${told.dropped ? ` · ${told.dropped} dropped` : ""}</span>`}
    </li>
  `;
};
