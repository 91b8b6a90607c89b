/** A pipeline: one row a chain, one box a step, with how busy it is while it runs. */
import type { Output } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { nameChain } from "./chain-names.ts";

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

interface PictureNeeds {
  readonly segments: readonly Segment[];
  /** By which attached chains are named. */
  readonly outputs?: readonly Output[];
}

export const PipelinePicture = ({ segments, outputs = [] }: PictureNeeds) => html`
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

interface Box {
  readonly step: string;
  readonly element: string;
  readonly kind: string;
  readonly told: Step | undefined;
}

/** Nodes of one step come one after the other and are shown as one. */
function stepsOf({ nodes, steps = [] }: Segment): readonly Box[] {
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

const StepBox = ({ name, element, kind, told }: Box & { name: string }) => {
  const load = loadOf(told);
  return html`
    <li class="step ${kind}" title=${element}>
      <strong>${name}</strong>
      ${told !== undefined && html`<span>${told.fps.toFixed(0)} fps · ${told.mean_ms.toFixed(1)} ms</span>`}
      ${load !== null && html`<meter min="0" max="1" low="0.6" high="0.85" optimum="0" value=${load} aria-label=${`Load of ${name}`}>${Math.round(load * 100)} %</meter>`}
      ${told?.capacity != null && html`<span>${told.queued ?? 0} of ${told.capacity} wait${told.dropped ? ` · ${told.dropped} dropped` : ""}</span>`}
    </li>
  `;
};
