import type { Process } from "../../../client/client.ts";
import { html } from "../../html.ts";

export const isActive = ({ state }: Process): boolean => state !== "finished" && state !== "failed";

export const StateMark = ({ process: { state, restarting, reconnecting } }: { process: Process }) => {
  const running = restarting ? "restarting" : reconnecting ? "reconnecting" : "running";
  const text = state === "running" ? running : state;
  return html`<span class="state ${text}">${text}</span>`;
};

/** Why there are no new frames. Null: the process should have some. */
export function noteOf({ state, restarting, reconnecting }: Process): string | null {
  if (state === "paused") return "Paused. Resume the process to continue.";
  if (state === "starting") return "Starting…";
  if (state === "waiting") return "Waiting for the source.";
  if (state === "stopping") return "Stopping…";
  if (restarting) return "The process crashed and is restarting.";
  return reconnecting ? "The source is offline, reconnecting." : null;
}
