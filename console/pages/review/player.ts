/** The picture of the current time with its boxes, and the controls of playback. */
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { Select } from "../../components/form.ts";
import { html } from "../../html.ts";
import { formatMoment } from "./clock.ts";
import { Icon } from "./icons.ts";
import type { PlaybackState } from "./playback.ts";

const RATES = [
  ["0.5", "½×"],
  ["1", "1×"],
  ["2", "2×"],
  ["4", "4×"],
  ["8", "8×"],
] as const;

interface PlayerProps {
  readonly canvas: RefObject<HTMLCanvasElement>;
  readonly video: RefObject<HTMLVideoElement>;
  readonly state: PlaybackState;
  readonly now: Signal<number>;
  readonly ofFile: boolean;
  readonly hasBoxes: boolean;
  readonly isMuted: boolean;
  readonly rate: number;
  readonly actions: Readonly<Record<PlayerAction, () => void>>;
  onRate(rate: number): void;
}

export type PlayerAction =
  | ("toggle" | "back" | "forward" | "previous" | "next" | "boxes" | "sound" | "fullScreen")
  | ("export" | "share");

export function Player({ canvas, video, state, now, ofFile, hasBoxes, isMuted, rate, actions, onRate }: PlayerProps) {
  const { isPlaying, isLoading, message } = state;
  const button = (action: PlayerAction, label: string, content: unknown, className = "") =>
    html`<button type="button" class=${className} aria-label=${label} title=${label} onClick=${actions[action]}>${content}</button>`;
  const icon = (name: string) => html`<${Icon} name=${name} />`;
  return html`
    <section class="review-player" aria-label="Player">
      <figure class="live">
        <video ref=${video} muted=${isMuted} playsinline preload="auto" tabindex="-1" aria-hidden="true"></video>
        <canvas ref=${canvas} role="img" aria-label="Recorded video with detections" width="1280" height="720" onClick=${actions.toggle}></canvas>
        ${message !== null && !isLoading && html`<figcaption role="status">${message}</figcaption>`}
        ${isLoading && html`<span class="spinner busy" role="status" aria-label="Loading video"></span>`}
      </figure>
      <div class="row controls" role="group" aria-label="Playback">
        ${button("previous", "Previous notice (p)", icon("previous"))}
        ${button("back", "Back 5 s (←)", "−5 s")}
        ${button("toggle", isPlaying ? "Pause (space)" : "Play (space)", icon(isPlaying ? "pause" : "play"), "primary play")}
        ${button("forward", "Forward 5 s (→)", "+5 s")}
        ${button("next", "Next notice (n)", icon("next"))}
        <${Clock} now=${now} ofFile=${ofFile} />
        <span class="grow"></span>
        <${Select} class="rate" label=${html`<span class="unseen">Speed</span>`} value=${String(rate)} options=${RATES} onChange=${(value: string) => onRate(Number(value))} />
        <button type="button" aria-pressed=${hasBoxes} title="Boxes (b)" onClick=${actions.boxes}>Boxes</button>
        ${button("sound", isMuted ? "Sound on" : "Sound off", icon(isMuted ? "muted" : "sound"))}
        ${button("fullScreen", "Full screen", icon("fullScreen"))}
        <button type="button" title="Copy a link to this moment" onClick=${actions.share}>Copy link</button>
        <button type="button" title="Export a clip (e)" onClick=${actions.export}>Export</button>
      </div>
    </section>
  `;
}

const Clock = ({ now, ofFile }: Pick<PlayerProps, "now" | "ofFile">) =>
  html`<output class="clock" aria-label="Current time">${formatMoment(now.value, ofFile)}</output>`;
