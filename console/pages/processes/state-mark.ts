import type { Process } from "../../../client/client.ts";
import { html } from "../../html.ts";

export const isActive = ({ state }: Process): boolean => state !== "finished" && state !== "failed";

export const StateMark = ({ process }: { process: Process }) => {
  const word = process.reconnecting && process.state === "running" ? "reconnecting" : process.state;
  return html`<span class="state ${word}">${word}</span>`;
};

/** Why there is no new picture, where its state tells. */
export function noteOf({ state, reconnecting }: Process): string | null {
  if (state === "paused") return "Paused. The picture goes on when it is resumed.";
  if (state === "starting") return "Starting…";
  if (state === "stopping") return "Stopping…";
  return reconnecting ? "The source is away; it is tried again." : null;
}
