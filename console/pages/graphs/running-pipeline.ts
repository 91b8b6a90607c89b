/** The pipeline of a process as it runs, with the load of each step. */
import type { ProcessGraph } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Shown } from "../../parts/states.ts";
import { windhover } from "../../session.ts";
import { PipelinePicture } from "./pipeline-picture.ts";

const EVERY_MS = 1_000;

export function RunningPipeline({ uuid }: { uuid: string }) {
  const { asked, reload } = useAsked(
    (signal) => windhover.getProcessGraph({ process_uuid: uuid, format: "json" }, { signal }),
    [uuid],
    EVERY_MS,
  );
  if (asked.state === "failed" && asked.error.code === "wrong_state")
    return html`<p class="hint" role="status">The process has ended.</p>`;
  return html`<${Shown} asked=${asked} onRetry=${reload}>${(graph: ProcessGraph) => html`<${Named} segments=${graph.segments} />`}</${Shown}>`;
}

/** Outputs are asked for when others are attached. */
function Named({ segments }: Pick<ProcessGraph, "segments">) {
  const chains = segments.map(({ name }) => name).join(" ");
  const { asked } = useAsked((signal) => windhover.listOutputs({}, { signal }), [chains]);
  const outputs = asked.state === "known" ? asked.value.outputs : [];
  return html`<${PipelinePicture} segments=${segments} outputs=${outputs} />`;
}
