/** Where the region of an alert is drawn: on a picture of one of the running processes. */
import { useEffect, useState } from "preact/hooks";
import type { Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { takePicture } from "../../live/first-picture.ts";
import { readChoice } from "../../parts/choice.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Loading } from "../../parts/states.ts";
import { windhover } from "../../session.ts";
import { DrawRegion } from "./draw-region.ts";
import type { Point } from "./region.ts";

interface RegionParts {
  readonly points: readonly Point[];
  readonly isLine: boolean;
  readonly processes: readonly Process[];
  onChange(points: readonly Point[]): void;
}

/** Null: not known yet. */
export function useProcesses(): readonly Process[] | null {
  const { asked } = useAsked((signal) => windhover.listProcesses({}, { signal }), []);
  if (asked.state === "loading") return null;
  return asked.state === "known" ? asked.value.processes : [];
}

export function RegionCard({ points, isLine, processes, onChange }: RegionParts) {
  const nameOf = useSourceNames();
  const [chosen, setChosen] = useState("");
  const shown = chosen !== "" ? chosen : (processes[0]?.uuid ?? "");
  return html`
    <section class="card stack">
      <h2>${isLine ? "Line" : "Zone"}</h2>
      ${
        processes.length > 1 &&
        html`<label>Picture of <select value=${shown} onChange=${(event: Event) => setChosen(readChoice(event))}>
          ${processes.map((process) => html`<option value=${process.uuid}>${nameOf(process)}</option>`)}
        </select></label>`
      }
      <${Picture} key=${shown} processUuid=${shown} points=${points} isLine=${isLine} onChange=${onChange} />
    </section>
  `;
}

interface PictureParts extends Omit<RegionParts, "processes"> {
  readonly processUuid: string;
}

function Picture({ processUuid, points, isLine, onChange }: PictureParts) {
  const [picture, setPicture] = useState<string | null>(null);
  const [words, setWords] = useState<string | null>(null);
  useEffect(() => {
    if (processUuid === "") {
      setWords("No process runs, so there is no picture to draw on. The frame stands for it.");
      return undefined;
    }
    let address: string | null = null;
    const leaving = new AbortController();
    takePicture(processUuid, leaving.signal).then(
      (taken) => {
        address = taken;
        if (leaving.signal.aborted) URL.revokeObjectURL(taken);
        else setPicture(taken);
      },
      (error: Error) => setWords(`There is no picture: ${error.message}. The frame stands for it.`),
    );
    return () => {
      leaving.abort();
      if (address !== null) URL.revokeObjectURL(address);
    };
  }, [processUuid]);
  return html`
    ${words !== null && html`<p class="hint" role="status">${words}</p>`}
    ${picture === null && words === null ? html`<${Loading} what="Taking a picture" />` : html`<${DrawRegion} picture=${picture} points=${points} isLine=${isLine} onChange=${onChange} />`}
  `;
}
