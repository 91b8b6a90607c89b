import type { Process } from "../../../client/client.ts";
import { html } from "../../html.ts";

export const isActive = ({ state }: Process): boolean => state !== "finished" && state !== "failed";

export const StateMark = ({ process }: { process: Process }) => {
  const word = process.state === "running" ? doingOf(process) : process.state;
  return html`<span class="state ${word}">${word}</span>`;
};

const doingOf = ({ restarting, reconnecting }: Process): string =>
  restarting ? "restarting" : reconnecting ? "reconnecting" : "running";

/** Why there is no new picture, where its state tells. */
export function noteOf({ state, restarting, reconnecting }: Process): string | null {
  if (state === "paused") return "Paused. The picture goes on when it is resumed.";
  if (state === "starting") return "Starting…";
  if (state === "stopping") return "Stopping…";
  if (restarting) return "It has crashed and is being restarted.";
  return reconnecting ? "The source is away; it is tried again." : null;
}
