/** Icons of the player. Fonts of some systems lack them. */
import { html } from "../../html.ts";

const PATHS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6 4.5h4v15H6zM14 4.5h4v15h-4z",
  previous: "M5 5h2.5v14H5zM20 5v14L9 12z",
  next: "M16.5 5H19v14h-2.5zM4 5v14l11-7z",
  sound:
    "M4 9v6h4l5 4.5v-15L8 9zM16 8.2a5 5 0 0 1 0 7.6v-2.2a3 3 0 0 0 0-3.2zM16 4.3a8.5 8.5 0 0 1 0 15.4v-2a6.5 6.5 0 0 0 0-11.4z",
  muted:
    "M4 9v6h4l5 4.5v-15L8 9zM15.4 9.6l1.2-1.2 2.2 2.2 2.2-2.2 1.2 1.2L20 11.8l2.2 2.2-1.2 1.2-2.2-2.2-2.2 2.2-1.2-1.2 2.2-2.2z",
  fullScreen: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
} as const;

export const Icon = ({ name }: { name: keyof typeof PATHS }) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
