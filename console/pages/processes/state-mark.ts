import type { Process } from "../../../client/client.ts";
import { html } from "../../html.ts";

export const isActive = ({ state }: Process): boolean => state !== "finished" && state !== "failed";

export const StateMark = ({ process }: { process: Process }) => {
  const word = process.reconnecting && process.state === "running" ? "reconnecting" : process.state;
  return html`<span class="state ${word}">${word}</span>`;
};
