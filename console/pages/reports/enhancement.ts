/** The enhancement of a report: offered where it can be had, with its progress, or why not. */
import { useEffect, useRef } from "preact/hooks";
import type { EnhancementState } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { attempt } from "../../parts/toasts.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 1_000;

interface EnhancementParts {
  readonly processUuid: string;
  readonly isRunning: boolean;
  /** The report has more in it now. */
  onDone(): void;
}

export function Enhancement({ processUuid, isRunning, onDone }: EnhancementParts) {
  const user = useAsked((signal) => windhover.getUserInfo({ signal }), []).asked;
  const { asked, reload } = useAsked(
    async (signal): Promise<EnhancementState | null> =>
      isRunning ? null : await windhover.readEnhancement({ process_uuid: processUuid }, { signal }).catch(() => null),
    [processUuid, isRunning],
  );
  const state = asked.state === "known" ? asked.value : null;
  const before = useRef(state?.status);
  useEffect(() => {
    if (before.current === "RUNNING" && state?.status === "FINISHED") onDone();
    before.current = state?.status;
  }, [state?.status]);
  // Only then does it change by itself.
  useEffect(() => {
    if (state?.status !== "RUNNING") return undefined;
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [state?.status]);
  const enhance = async (): Promise<void> => {
    await attempt(() => windhover.enhanceTracks({ process_uuid: processUuid }), "It is being enhanced");
    reload();
  };
  if (user.state !== "known" || asked.state === "loading") return null;
  if (!user.value.is_enhancement_enabled)
    return html`<p class="hint enhancement">This key has no enhancement, which would tell colours, kinds and plates by the pictures. Whoever runs the service can make a key that has it.</p>`;
  if (isRunning)
    return html`<p class="hint enhancement">The process still runs. Its report can be enhanced once it has finished.</p>`;
  return html`
    <div class="row enhancement">
      <button type="button" disabled=${state?.status === "RUNNING"} onClick=${() => void enhance()}>${state?.status === "FINISHED" ? "Enhance again" : "Enhance"}</button>
      ${state === null ? html`<span class="hint">Tells colours, kinds and plates by the pictures.</span>` : html`<${Progress} state=${state} />`}
    </div>
  `;
}

const WORDS = { RUNNING: "is being enhanced", FINISHED: "enhanced", FAILED: "enhancement failed" } as const;

const Progress = ({ state: { status, progress, detail } }: { state: EnhancementState }) => html`
  <p role="status"><span class="state ${status}">${WORDS[status]}</span> <span class="hint">${detail}</span></p>
  ${status === "RUNNING" && html`<progress max="1" value=${progress} aria-label="Enhancement"></progress>`}
`;
